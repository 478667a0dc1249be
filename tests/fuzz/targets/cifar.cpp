// SPDX-License-Identifier: Apache-2.0
// The first byte says which set, and whether the rest is the file or is repeated up to whole
// records, which a fuzzer would rarely meet.
#include <memory>

#include "fuzz/images.h"

namespace kappascope::fuzz {
namespace {

constexpr std::size_t kPixels = 3072;

void check_cifar(std::string_view bytes) {
  Input input(bytes);
  const auto kind = input.byte();
  const bool hundred = kind % 2 == 1, tiled = kind / 2 % 2 == 1, test = kind / 4 % 2 == 1;
  const std::size_t labels = hundred ? 2 : 1, record = labels + kPixels;
  std::string file(input.rest());
  if (tiled && !file.empty()) {
    const auto wanted = (1 + file.size() % 3) * record + (kind / 8 == 1 ? 1 : 0);
    while (file.size() < wanted) file += file;
    file.resize(wanted);
  }
  const auto folder = scratch(hundred ? "cifar-100" : "cifar-10");
  put(folder / (hundred ? "train.bin" : "data_batch_1.bin"), file);
  put(folder / (hundred ? "test.bin" : "test_batch.bin"), file);
  std::unique_ptr<data::ImageSource> set;
  if (!accepted([&] {
        set = data::open_images(folder, test ? data::Split::kTest : data::Split::kTrain);
      }))
    return;
  expect(set->classes() == (hundred ? 100 : 10) && set->shape() == data::ImageShape{3, 32, 32},
         "shape and classes are those of the format");
  const auto sum = check_images(*set);
  if (file.starts_with("\x1f\x8b")) return;
  expect(static_cast<std::size_t>(set->size()) * record == file.size(),
         "the file is whole records");
  double stored = 0;
  for (std::size_t i = 0; i < file.size(); ++i)
    if (i % record >= labels) stored += static_cast<unsigned char>(file[i]);
  expect(sum == stored, "the pixels are the file's");
  expect(set->labels(torch::tensor({set->size() - 1})).item<int64_t>() ==
             static_cast<unsigned char>(file[file.size() - record + labels - 1]),
         "the label is the last one before the pixels");
}

std::vector<std::pair<std::string, std::string>> cifar_seeds() {
  const std::string few("\3\1\7\200\377", 5);
  std::string whole(kPixels + 1, '\5');
  whole[kPixels / 2] = '\377';
  return {{"seed-whole", '\0' + whole},
          {"seed-tiled-10", '\2' + few},
          {"seed-tiled-100", '\3' + few},
          {"seed-tiled-test", '\6' + few},
          {"seed-one-more", '\12' + few},
          {"seed-cut", '\0' + whole.substr(1)}};
}

const Registered kCifar({"cifar", check_cifar, cifar_seeds});

}  // namespace
}  // namespace kappascope::fuzz
