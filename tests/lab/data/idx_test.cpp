// SPDX-License-Identifier: Apache-2.0
#include "support/idx.h"

#include <torch/types.h>
#include <zlib.h>

#include <cstring>
#include <random>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "lab/data/images.h"
#include "support/catch.h"
#include "support/files.h"
#include "tensor/allocations.h"

using namespace kappascope;
using Catch::Contains;
using kappascope::testing::slurp;
namespace fs = std::filesystem;

TEST_CASE("plain and gzipped IDX files give the same images in [0, 1]") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path());
  const auto plain = data::open_images(folder.path(), data::Split::kTrain);
  CHECK(plain->size() == 600);
  CHECK(plain->classes() == 3);
  const auto all = torch::arange(600, torch::kLong);
  const auto images = plain->images(all);
  CHECK(images.sizes() == at::IntArrayRef({600, 1, 6, 6}));
  CHECK(plain->shape() == data::ImageShape{1, 6, 6});
  CHECK(images.max().item<float>() <= 1);
  CHECK(torch::equal(plain->labels(torch::tensor({5, 3, 1})), torch::tensor({2, 0, 1})));
  const auto bytes = slurp(folder.path() / "train-images-idx3-ubyte");
  CHECK(images[5][0][1][1].item<float>() ==
        static_cast<float>(static_cast<unsigned char>(bytes[16 + 5 * 36 + 7])) / 255);

  const auto zipped = folder.path() / "train-images-idx3-ubyte.gz";
  auto* out = gzopen(zipped.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
  fs::remove(folder.path() / "train-images-idx3-ubyte");
  CHECK(torch::equal(data::open_images(folder.path(), data::Split::kTrain)->images(all), images));

  // A gzip file cut in the middle is named too, and one that is damaged there.
  const auto packed = slurp(zipped);
  auto damaged = packed;
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 20; ++i) damaged[i] = '\xff';
  testing::write_bytes(zipped, damaged);
  CHECK_THROWS_WITH(data::open_images(folder.path(), data::Split::kTrain),
                    Contains("truncated or damaged") && Contains(".gz"));
  testing::write_bytes(zipped, packed.substr(0, packed.size() / 2));
  CHECK_THROWS_WITH(data::open_images(folder.path(), data::Split::kTrain),
                    Contains("truncated") && Contains(".gz"));
}

TEST_CASE("a packed set that unpacks to far more than data do is refused before it is unpacked") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path());
  // 4 million images of 28 x 28 announced, in a file of 5 MB that no packing makes smaller.
  const auto zipped = folder.path() / "train-images-idx3-ubyte.gz";
  const std::string header("\0\0\x8\3\0\x3d\x09\0\0\0\0\x1c\0\0\0\x1c", 16);
  std::mt19937_64 random(1);
  std::string noise(5'000'000, '\0');
  for (std::size_t i = 0; i < noise.size(); i += 8) {
    const auto word = random();
    std::memcpy(noise.data() + i, &word, sizeof word);
  }
  auto* out = gzopen(zipped.c_str(), "wb1");
  gzwrite(out, header.data(), 16);
  gzwrite(out, noise.data(), static_cast<unsigned>(noise.size()));
  gzclose(out);
  fs::remove(folder.path() / "train-images-idx3-ubyte");
  const tensor::Allocations taken;
  CHECK_THROWS_WITH(data::open_images(folder.path(), data::Split::kTrain),
                    Contains("over 100 times its size") && Contains(".gz"));
  CHECK(taken.peak() < 1'000'000);
  // Up to 256 MiB what is announced counts for nothing: the end of this one is missed.
  const auto announce = [&](int images) {
    auto* packed = gzopen(zipped.c_str(), "wb1");
    const std::string of_256("\0\0\x8\3\0\0\x10\0\0\0\1\0\0\0\1\0", 16);
    gzwrite(packed, of_256.data(), 7);
    gzputc(packed, images);
    gzwrite(packed, of_256.data() + 8, 8);
    gzwrite(packed, noise.data(), 300'000);
    gzclose(packed);
    return Contains(images == 0 ? "truncated" : "over 100 times its size");
  };
  for (const int images : {0, 1}) {
    const auto told = announce(images);
    CHECK_THROWS_WITH(data::open_images(folder.path(), data::Split::kTrain), told);
  }
  // CIFAR has no header that announces anything: it is refused while it is read.
  const auto records = folder.path() / "cifar";
  fs::create_directories(records);
  out = gzopen((records / "data_batch_1.bin.gz").c_str(), "wb1");
  const std::string zeros(3073 * 1000, '\0');
  for (int i = 0; i < 100; ++i) gzwrite(out, zeros.data(), static_cast<unsigned>(zeros.size()));
  gzclose(out);
  CHECK_THROWS_WITH(data::open_images(records, data::Split::kTrain),
                    Contains("over 100 times its size") && Contains(".gz"));
}

TEST_CASE("each way a data set can be broken is named with its file") {
  const TemporaryFolder folder;
  const auto load = [&] { return data::open_images(folder.path(), data::Split::kTest); };
  CHECK_THROWS_WITH(data::open_images(folder.path() / "nowhere", data::Split::kTest),
                    Contains("does not exist"));
  CHECK_THROWS_WITH(load(), Contains("holds no data set") || Contains("image-size"));
  testing::write_bytes(folder.path() / "words.txt", "In the beginning");
  CHECK_THROWS_WITH(data::open_images(folder.path() / "words.txt", data::Split::kTest),
                    Contains("--model.kind language"));
  testing::write_image_set(folder.path());
  REQUIRE(load()->size() == 90);
  const auto images = folder.path() / "t10k-images-idx3-ubyte",
             labels = folder.path() / "t10k-labels-idx1-ubyte";
  const auto good = slurp(images), good_labels = slurp(labels);

  fs::remove(images);
  CHECK_THROWS_WITH(load(),
                    Contains("t10k-images-idx3-ubyte") && Contains("dataset-fashion-mnist"));
  testing::write_bytes(images, good.substr(0, good.size() - 1));
  CHECK_THROWS_WITH(load(), Contains("truncated") && Contains("t10k-images"));
  testing::write_bytes(images, good.substr(0, 3));
  CHECK_THROWS_WITH(load(), Contains("truncated"));
  testing::write_bytes(images, good + "x");
  CHECK_THROWS_WITH(load(), Contains("more bytes"));
  auto wrong = good;
  wrong[3] = 2;
  testing::write_bytes(images, wrong);
  CHECK_THROWS_WITH(load(), Contains("magic number is 0x00000802, expected 0x00000803"));
  testing::write_bytes(images, good);

  testing::write_idx(folder.path() / "other", "t10k", 89, 3);
  fs::copy_file(
      folder.path() / "other/t10k-labels-idx1-ubyte", labels, fs::copy_options::overwrite_existing);
  CHECK_THROWS_WITH(load(), Contains("90 images") && Contains("89 labels"));
  testing::write_bytes(labels, good_labels);

  testing::write_idx(folder.path(), "t10k", 0, 3);
  CHECK_THROWS_WITH(load(), Contains("empty"));
}

TEST_CASE("a header that announces an impossible size is refused before anything is reserved") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path());
  std::string bytes;
  for (const std::uint32_t word : {0x0803U, 0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU})
    testing::put_big_endian(bytes, word);
  testing::write_bytes(folder.path() / "train-images-idx3-ubyte", bytes);
  CHECK_THROWS_WITH(data::open_images(folder.path(), data::Split::kTrain),
                    Contains("impossible size"));

  // Of a possible size, but not in so few bytes, packed or not.
  bytes.clear();
  for (const std::uint32_t word : {0x0803U, 0x10000U, 0x100U, 0xFFU})
    testing::put_big_endian(bytes, word);
  testing::write_bytes(folder.path() / "train-images-idx3-ubyte", bytes);
  CHECK_THROWS_WITH(data::open_images(folder.path(), data::Split::kTrain),
                    Contains("4278190080 values, more than it can hold"));
}
