// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "core/require.h"
#include "lab/data/byte_reader.h"
#include "lab/data/pixels.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPixels = int64_t{3} * 32 * 32;

/// Records of `labels` label bytes and 3,072 pixels, channel by channel; the last label counts.
Pixels read_records(const fs::path& path, int64_t labels, int64_t classes) {
  const auto record = labels + kPixels;
  ByteReader reader(path);
  std::vector<at::Tensor> pieces;
  constexpr int64_t kPiece = 1000;
  for (;;) {
    auto piece = torch::empty({kPiece, record}, torch::kUInt8);
    const auto got =
        reader.read_some(piece.data_ptr<std::uint8_t>(), static_cast<std::size_t>(kPiece * record));
    const auto whole = static_cast<int64_t>(got) / record;
    require(static_cast<int64_t>(got) % record == 0,
            "{} is truncated or no CIFAR file: its size is not a multiple of {} bytes",
            path.string(),
            record);
    if (whole > 0) pieces.push_back(piece.narrow(0, 0, whole));
    if (whole < kPiece) break;
  }
  require(!pieces.empty(), "{} is empty", path.string());
  const auto records = torch::cat(pieces);
  Pixels set{records.narrow(1, labels, kPixels).view({-1, 3, 32, 32}),
             records.select(1, labels - 1).to(torch::kLong),
             classes};
  const auto top = set.labels.max().item<int64_t>();
  require(top < classes,
          "{} is damaged or no CIFAR file: it has label {}, and there are {} classes",
          path.string(),
          top,
          classes);
  return set;
}

}  // namespace

Pixels read_cifar10(const fs::path& dir, Split split) {
  const std::string advice =
      "the binary version of CIFAR-10 has data_batch_1.bin to data_batch_5.bin and test_batch.bin "
      "(gzip or not), at www.cs.toronto.edu/~kriz/cifar.html";
  if (split == Split::kTest) return read_records(find_file(dir, "test_batch.bin", advice), 1, 10);
  // As many of the five as there are, from the first on without a gap: parts of the set are in use,
  // and what a run trained on stands in its facts.
  int last = 5;
  while (last > 1 && !has_file(dir, fmt::format("data_batch_{}.bin", last))) --last;
  std::vector<at::Tensor> values, labels;
  for (int i = 1; i <= last; ++i) {
    const auto part =
        read_records(find_file(dir, fmt::format("data_batch_{}.bin", i), advice), 1, 10);
    values.push_back(part.values);
    labels.push_back(part.labels);
  }
  return {torch::cat(values), torch::cat(labels), 10};
}

Pixels read_cifar100(const fs::path& dir, Split split) {
  return read_records(find_file(dir,
                                split == Split::kTrain ? "train.bin" : "test.bin",
                                "the binary version of CIFAR-100 has train.bin and test.bin (gzip "
                                "or not), at www.cs.toronto.edu/~kriz/cifar.html"),
                      2,
                      100);
}

}  // namespace kappascope::data
