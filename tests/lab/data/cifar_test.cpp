// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "lab/data/images.h"
#include "support/catch.h"
#include "support/idx.h"

using namespace kappascope;
using Catch::Contains;

namespace {

/// `n` records whose labels are `first`, first + 1, ... and whose pixel p of record i is i + p.
std::string records(int n, int first, bool coarse = false) {
  std::string bytes;
  for (int i = 0; i < n; ++i) {
    if (coarse) bytes.push_back('\7');
    bytes.push_back(static_cast<char>(first + i));
    for (int p = 0; p < 3072; ++p) bytes.push_back(static_cast<char>((i + p) % 256));
  }
  return bytes;
}

}  // namespace

TEST_CASE("CIFAR-10 joins its batches in order and gives pixels channel by channel") {
  const TemporaryFolder folder;
  testing::write_bytes(folder.path() / "data_batch_1.bin", records(4, 0));
  testing::write_bytes(folder.path() / "data_batch_2.bin", records(3, 5));
  testing::write_bytes(folder.path() / "test_batch.bin", records(2, 8));
  const auto train = data::open_images(folder.path(), data::Split::kTrain);
  CHECK(train->size() == 7);
  CHECK(train->classes() == 10);
  CHECK(train->shape() == data::ImageShape{3, 32, 32});
  const auto picked = torch::tensor({6, 1});
  CHECK(torch::equal(train->labels(picked), torch::tensor({7, 1})));
  // Record 2 of the second batch, channel 2, row 3, column 4.
  CHECK(train->images(picked)[0][2][3][4].item<float>() ==
        static_cast<float>((2 + 2 * 1024 + 3 * 32 + 4) % 256) / 255);
  CHECK(data::open_images(folder.path(), data::Split::kTest)->size() == 2);
}

TEST_CASE("a batch that is missing between others, cut short or of another set is an error") {
  const TemporaryFolder folder;
  const auto load = [&] { return data::open_images(folder.path(), data::Split::kTrain); };
  testing::write_bytes(folder.path() / "data_batch_1.bin", records(4, 0));
  CHECK(load()->size() == 4);
  testing::write_bytes(folder.path() / "data_batch_3.bin", records(4, 0));
  CHECK_THROWS_WITH(load(), Contains("data_batch_2.bin") && Contains("cs.toronto.edu"));
  testing::write_bytes(folder.path() / "data_batch_2.bin", records(4, 0) + "x");
  CHECK_THROWS_WITH(load(), Contains("data_batch_2.bin") && Contains("multiple of 3073"));
  testing::write_bytes(folder.path() / "data_batch_2.bin", records(4, 8));
  CHECK_THROWS_WITH(load(), Contains("label 11"));
  testing::write_bytes(folder.path() / "data_batch_2.bin", "");
  CHECK_THROWS_WITH(load(), Contains("empty"));
}

TEST_CASE("CIFAR-100 is told by its fine labels") {
  const TemporaryFolder folder;
  testing::write_bytes(folder.path() / "train.bin", records(3, 40, true));
  testing::write_bytes(folder.path() / "test.bin", records(2, 90, true));
  const auto train = data::open_images(folder.path(), data::Split::kTrain);
  CHECK(train->classes() == 100);
  CHECK(torch::equal(train->labels(torch::arange(3)), torch::tensor({40, 41, 42})));
  CHECK(train->images(torch::tensor({1}))[0][0][0][0].item<float>() == 1.0F / 255);
  const auto test = data::open_images(folder.path(), data::Split::kTest);
  CHECK(torch::equal(test->labels(torch::arange(2)), torch::tensor({90, 91})));
}

TEST_CASE("a set is known by its test part alone, and says which training part it lacks") {
  const TemporaryFolder ten, hundred;
  testing::write_bytes(ten.path() / "test_batch.bin", records(2, 8));
  CHECK(data::open_images(ten.path(), data::Split::kTest)->classes() == 10);
  CHECK_THROWS_WITH(data::open_images(ten.path(), data::Split::kTrain),
                    Contains("data_batch_1.bin"));
  std::filesystem::rename(ten.path() / "test_batch.bin", ten.path() / "test_batch.bin.gz");
  CHECK(data::open_images(ten.path(), data::Split::kTest)->size() == 2);
  testing::write_bytes(hundred.path() / "test.bin", records(2, 8, true));
  CHECK(data::open_images(hundred.path(), data::Split::kTest)->classes() == 100);
  CHECK_THROWS_WITH(data::open_images(hundred.path(), data::Split::kTrain), Contains("train.bin"));
}
