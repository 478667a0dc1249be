// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/types.h>

#include <vector>

#include "core/require.h"
#include "lab/data/byte_reader.h"
#include "lab/data/pixels.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

at::Tensor read_array(const fs::path& path, std::uint32_t dimensions) {
  ByteReader reader(path);
  const std::uint32_t magic = reader.read_big_endian();
  // 0x08 says unsigned bytes, the last byte says how many dimensions follow.
  require(magic == (0x0800U | dimensions),
          "{} is not an IDX file of {}-dimensional bytes: its magic number is {}, expected {}",
          path.string(),
          dimensions,
          fmt::format("{:#010x}", magic),
          fmt::format("{:#010x}", 0x0800U | dimensions));
  std::vector<int64_t> shape;
  std::size_t total = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    shape.push_back(reader.read_big_endian());
    const auto extent = static_cast<std::size_t>(shape.back());
    require(extent == 0 || total <= (std::size_t{1} << 32U) / extent,
            "{} announces an impossible size: it is damaged, or no IDX file",
            path.string());
    total *= extent;
  }
  require(total > 0, "{} is empty: its header announces no values", path.string());
  // Memory is asked for before anything is read. The densest packing is 1,032 bytes in one.
  require(total / 1032 <= fs::file_size(path),
          "{} is truncated or damaged: it announces {} values, more than it can hold",
          path.string(),
          total);
  reader.require_room(total);
  auto values = torch::empty(shape, torch::kUInt8);
  reader.read(values.data_ptr<std::uint8_t>(), total);
  reader.expect_end();
  return values;
}

}  // namespace

Pixels read_idx(const fs::path& dir, Split split) {
  const std::string prefix = split == Split::kTrain ? "train" : "t10k";
  const std::string advice =
      "an IDX set has train- and t10k-images-idx3-ubyte and -labels-idx1-ubyte; MNIST and "
      "Fashion-MNIST are published so, and on Debian `apt-get install dataset-fashion-mnist` puts "
      "the latter into /usr/share/datasets/fashion-mnist";
  const auto image_path = find_file(dir, prefix + "-images-idx3-ubyte", advice);
  const auto label_path = find_file(dir, prefix + "-labels-idx1-ubyte", advice);
  const auto images = read_array(image_path, 3);
  const auto labels = read_array(label_path, 1);
  require(images.size(0) == labels.size(0),
          "{} holds {} images, but {} holds {} labels",
          image_path.string(),
          images.size(0),
          label_path.string(),
          labels.size(0));
  Pixels set{images.unsqueeze(1), labels.to(torch::kLong), 0};
  set.classes = set.labels.max().item<int64_t>() + 1;
  return set;
}

}  // namespace kappascope::data
