// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/types.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "lab/data/decode_image.h"
#include "lab/data/images.h"
#include "support/catch.h"
#include "support/files.h"
#include "support/idx.h"
#include "support/picture.h"
#include "tensor/allocations.h"

using namespace kappascope;
using Catch::Contains;
using kappascope::testing::slurp;
namespace fs = std::filesystem;

namespace {

/// A picture of one colour, red in the left half and `green` in the right.
void write_picture(const fs::path& file, int width, int height, unsigned char green) {
  fs::create_directories(file.parent_path());
  std::vector<unsigned char> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool left = x < width / 2;
      pixels.insert(pixels.end(), {left ? std::uint8_t{255} : std::uint8_t{0}, green, 0});
    }
  }
  testing::write_picture(file, width, height, pixels);
}

}  // namespace

TEST_CASE(
    "PNG and JPEG files are scaled on the shorter side, cut in the middle, labelled by folder") {
  const TemporaryFolder folder;
  for (const auto* part : {"train", "test"}) {
    write_picture(folder.path() / part / "cat" / "a.png", 40, 20, 100);
    write_picture(folder.path() / part / "cat" / "b.jpg", 16, 64, 200);
    write_picture(folder.path() / part / "dog" / "c.png", 30, 30, 50);
  }
  const auto set = data::open_images(folder.path(), data::Split::kTrain, {.size = 10});
  CHECK(set->size() == 3);
  CHECK(set->classes() == 2);
  CHECK(set->shape() == data::ImageShape{3, 10, 10});
  const auto all = torch::arange(3);
  CHECK(torch::equal(set->labels(all), torch::tensor({0, 0, 1})));
  const auto images = set->images(all);
  set->expect(all);
  CHECK(torch::equal(set->images(torch::tensor({2, 0})),
                     images.index_select(0, torch::tensor({2, 0}))));
  CHECK(images[0][0][5][1].item<float>() == 1);  // red on the left of the cut square
  CHECK(images[0][0][5][8].item<float>() == 0);
  CHECK(images[0][1][5][5].item<float>() == Approx(100.0 / 255));
  CHECK(images[1][1][5][5].item<float>() == Approx(200.0 / 255).margin(0.02));  // JPEG loses some
}

TEST_CASE("labels are the training part's in both parts, and invalid folders are refused") {
  const TemporaryFolder folder;
  const auto open = [&](data::Split split) {
    return data::open_images(folder.path(), split, {.size = 4});
  };
  for (const auto* name : {"ant", "bee", "cat"})
    write_picture(folder.path() / "train" / name / "1.png", 8, 8, 10);
  fs::create_directories(folder.path() / "train" / ".cache");
  CHECK_THROWS_WITH(open(data::Split::kTrain), Contains("neither test nor val"));
  write_picture(folder.path() / "val/ant/2.png", 8, 8, 10);
  write_picture(folder.path() / "val/cat/2.png", 8, 8, 10);
  const auto test = open(data::Split::kTest);
  CHECK(test->classes() == 3);
  CHECK(torch::equal(test->labels(torch::arange(2)), torch::tensor({0, 2})));
  write_picture(folder.path() / "val/dog/2.png", 8, 8, 10);
  CHECK_THROWS_WITH(open(data::Split::kTest), Contains("dog") && Contains("train does not have"));
  write_picture(folder.path() / "train/stray.png", 8, 8, 10);
  CHECK_THROWS_WITH(open(data::Split::kTrain), Contains("both images and folders"));
}

TEST_CASE("without a part of its own every tenth file is held out, or as CelebA's list says") {
  const TemporaryFolder folder;
  for (int i = 0; i < 12; ++i)
    write_picture(folder.path() / fmt::format("f{}.png", 10 + i), 8, 8, 10);
  const auto rows = [&](data::Split split) {
    return data::open_images(folder.path(), split, {.size = 4})->size();
  };
  CHECK(rows(data::Split::kTrain) == 11);
  CHECK(rows(data::Split::kTest) == 1);
  CHECK(data::open_images(folder.path(), data::Split::kTest, {.size = 4})->classes() == 0);
  std::string list;
  for (int i = 0; i < 12; ++i) {
    list += fmt::format("f{}.png {}\n", 10 + i, i < 7 ? 0 : i % 2 + 1);
  }
  list.insert(list.find('\n'), "\n  ");  // an empty line is none
  testing::write_bytes(folder.path() / "list_eval_partition.txt", list);
  CHECK(rows(data::Split::kTrain) == 7);
  CHECK(rows(data::Split::kTest) == 3);
  testing::write_bytes(folder.path() / "list_eval_partition.txt", "f10.png 0\n");
  CHECK_THROWS_WITH(rows(data::Split::kTrain), Contains("does not name") && Contains("f11.png"));
  // Nobody would miss an image of a part that there is not.
  for (const auto* damaged : {"f10.png",
                              "f10.png zero\n",
                              "f10.png 3\nf11.png 0\n",
                              "f10.png -1\n",
                              "f10.png 0 f11.png 0\n",
                              "f10.png 0\nf10.png 2\n"}) {
    CAPTURE(damaged);
    testing::write_bytes(folder.path() / "list_eval_partition.txt", damaged);
    CHECK_THROWS_WITH(rows(data::Split::kTrain), Contains("0, 1 or 2"));
  }
  testing::write_bytes(folder.path() / "list_eval_partition.txt", list + "f2");
  CHECK_THROWS_WITH(rows(data::Split::kTrain), Contains("0, 1 or 2"));
  testing::write_bytes(folder.path() / "list_eval_partition.txt", "");
  CHECK_THROWS_WITH(rows(data::Split::kTrain), Contains("is empty"));
  testing::write_bytes(folder.path() / "list_eval_partition.txt", list);
  for (int i = 0; i < 12; ++i) {
    if (i > 0) fs::remove(folder.path() / fmt::format("f{}.png", 10 + i));
  }
  CHECK_THROWS_WITH(rows(data::Split::kTest), Contains("too few images"));
}

TEST_CASE("a test part without a training part is refused, and letters of any case are an ending") {
  const TemporaryFolder folder;
  const auto open = [&] {
    return data::open_images(folder.path(), data::Split::kTrain, {.size = 4});
  };
  write_picture(folder.path() / "val/1.png", 8, 8, 10);
  CHECK_THROWS_WITH(open(), Contains("a folder val but no train"));
  write_picture(folder.path() / "train/1.png", 8, 8, 10);
  fs::rename(folder.path() / "train/1.png", folder.path() / "train/1.PNG");
  write_picture(folder.path() / "train/2.jpeg", 8, 8, 10);
  CHECK(open()->size() == 2);
  CHECK_FALSE(open()->labels(torch::tensor({0})).defined());
}

TEST_CASE("a picture that ends in its header or in its pixels is an error with its name") {
  const TemporaryFolder folder;
  write_picture(folder.path() / "a.png", 40, 40, 10);
  const auto bytes = slurp(folder.path() / "a.png");
  for (const auto length : {std::size_t{10}, bytes.size() / 2}) {
    CAPTURE(length);
    testing::write_bytes(folder.path() / "a.png", bytes.substr(0, length));
    const auto set = data::open_images(folder.path(), data::Split::kTrain, {.size = 4});
    CHECK_THROWS_WITH(set->images(torch::tensor({0})),
                      Contains("cannot decode") && Contains("a.png"));
  }
}

TEST_CASE("an image folder says what it lacks, and a broken file which it is") {
  const TemporaryFolder folder;
  const auto open = [&](int64_t size) {
    return data::open_images(folder.path(), data::Split::kTrain, {.size = size});
  };
  CHECK_THROWS_WITH(open(8), Contains("holds no data set"));
  testing::write_bytes(folder.path() / "broken.png", "not an image");
  testing::write_bytes(folder.path() / "broken2.png", "not an image");
  CHECK_THROWS_WITH(open(0), Contains("data.image-size"));
  CHECK_THROWS_WITH(open(8)->images(torch::tensor({1})),
                    Contains("cannot decode") && Contains("broken2.png"));
}

TEST_CASE("a JPEG file that uses a table which it has not, or whose codes do not fit, is refused") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes) {
    testing::write_bytes(folder.path() / "a.jpg", bytes);
    const auto set = data::open_images(folder.path(), data::Split::kTrain, {.size = 16});
    CHECK_THROWS_WITH(set->images(torch::tensor({0})),
                      Contains("cannot decode") && Contains("a.jpg"));
  };
  const auto table = std::string("\xff\xdb\0\x43\0", 5) + std::string(64, '\x8');
  const std::string frame("\xff\xc2\0\xb\x8\0\x10\0\x10\1\1\x11\0", 13);
  const std::string scan("\xff\xda\0\x8\1\1\0\1\x3f\0", 10);  // no Huffman table before it
  const std::string end = std::string(64, 'E') + "\xff\xd9";
  refused("\xff\xd8" + table + frame + scan + end);
  // The lengths of a table's codes sum to 598, where 256 are the most: what wrote behind an array
  // of stb's.
  const std::string huffman = std::string("\xff\xc4\2\x69\0", 5) + std::string(2, '\xff') +
                              std::string(1, '\x58') + std::string(13, '\0') +
                              std::string(598, '\1');
  refused("\xff\xd8" + table + huffman + frame + scan + end);
}

TEST_CASE("a JPEG file in the colours of printing is refused by name") {
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  const std::vector<unsigned char> pixels(16 * 16 * 4, 90);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  REQUIRE(
      tjCompress2(
          encoder.get(), pixels.data(), 16, 0, 16, TJPF_CMYK, &bytes, &size, TJSAMP_444, 95, 0) ==
      0);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  const TemporaryFolder folder;
  testing::write_bytes(folder.path() / "a.jpg",
                       std::string(reinterpret_cast<const char*>(bytes), size));
  const auto set = data::open_images(folder.path(), data::Split::kTrain, {.size = 16});
  CHECK_THROWS_WITH(set->images(torch::tensor({0})),
                    Contains("cannot decode") && Contains("a.jpg"));
}

TEST_CASE("a JPEG file of more than 500 scans, each a pass over the image, is refused") {
  const TemporaryFolder folder;
  const auto first_of_scans = [&](int scans) {
    const auto table = std::string("\xff\xdb\0\x43\0", 5) + std::string(64, '\1');
    const std::string frame("\xff\xc2\0\xb\x8\0\x8\0\x8\1\1\x11\0", 13);
    const auto codes = std::string("\xff\xc4\0\x14\0\1", 6) + std::string(16, '\0');
    const std::string scan("\xff\xda\0\x8\1\1\0\0\0\0\x7f", 11);
    auto bytes = "\xff\xd8" + table + frame + codes;
    for (int i = 0; i < scans; ++i) bytes += scan;
    testing::write_bytes(folder.path() / "a.jpg", bytes + "\xff\xd9");
    return data::open_images(folder.path(), data::Split::kTrain, {.size = 8})
        ->images(torch::tensor({0}));
  };
  CHECK(torch::all(first_of_scans(500) == first_of_scans(1)).item<bool>());
  CHECK_THROWS_WITH(first_of_scans(501), Contains("a.jpg") && Contains("500 scans"));
}

TEST_CASE("bytes behind the pixels of a JPEG file cost nothing, and a missing end is refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.jpg";
  const auto first = [&] {
    return data::open_images(folder.path(), data::Split::kTrain, {.size = 64})
        ->images(torch::tensor({0}));
  };
  write_picture(file, 64, 64, 10);
  const auto whole = slurp(file);
  const auto image = first();
  testing::write_bytes(file, whole.substr(0, whole.size() - 2) + "xy" + "\xff\xd9");
  CHECK(torch::equal(first(), image));
  for (const auto length : {whole.size() - 2, whole.size() / 2}) {
    CAPTURE(length);
    testing::write_bytes(file, whole.substr(0, length));
    CHECK_THROWS_WITH(first(), Contains("cannot decode") && Contains("a.jpg"));
  }
}

TEST_CASE("scaling keeps a flat picture, and means pixels where it shrinks") {
  const TemporaryFolder folder;
  std::vector<unsigned char> stripes;
  for (int i = 0; i < 32 * 32; ++i) {
    const auto level = static_cast<unsigned char>(i % 2 * 200);
    stripes.insert(stripes.end(), {level, level, 77});
  }
  testing::write_picture(folder.path() / "a.png", 32, 32, stripes);
  const auto set = data::open_images(folder.path(), data::Split::kTrain, {.size = 4});
  const auto image = set->images(torch::tensor({0}))[0] * 255;
  // Each pixel is made of some sixteen of alternating columns.
  CHECK((image[0] - 100).abs().max().item<float>() < 8);
  CHECK((image[2] - 77).abs().max().item<float>() <= 1);
}

TEST_CASE("an image of another format under the name of a PNG is refused") {
  const TemporaryFolder folder;
  // A whole GIF of one pixel.
  const std::string gif("GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;",
                        35);
  testing::write_bytes(folder.path() / "a.png", gif);
  const auto set = data::open_images(folder.path(), data::Split::kTrain, {.size = 1});
  CHECK_THROWS_WITH(set->images(torch::tensor({0})), Contains("neither PNG nor JPEG"));
}

TEST_CASE("how opaque a pixel is does not change its colour") {
  const TemporaryFolder folder;
  const std::vector<unsigned char> pixels = {200, 100, 50, 255, 10, 20, 30, 0};
  for (const auto* part : {"train", "test"}) {
    fs::create_directories(folder.path() / part);
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = 2;
    image.height = 1;
    image.format = PNG_FORMAT_RGBA;
    const auto file = folder.path() / part / "0.png";
    REQUIRE(png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr) != 0);
  }
  const auto found = data::decode_image(folder.path() / "train/0.png");
  CHECK(found.sizes() == at::IntArrayRef({1, 2, 3}));
  const auto expected = torch::tensor({200, 100, 50, 10, 20, 30}, torch::kUInt8);
  CHECK(torch::equal(found.flatten(), expected));
}

TEST_CASE("an image that would take gigabytes is refused by its name and size") {
  const TemporaryFolder folder;
  const auto first_image = [&](int64_t size) {
    return data::open_images(folder.path(), data::Split::kTrain, {.size = size})
        ->images(torch::tensor({0}));
  };
  write_picture(folder.path() / "test/0.png", 8, 8, 10);
  write_picture(folder.path() / "train/0.png", 32'768, 1, 10);
  CHECK(first_image(1).size(3) == 1);
  CHECK_THROWS_WITH(first_image(2), Contains("0.png is 32768 x 1 pixels, and 65536 x 2"));
  CHECK_THROWS_WITH(first_image(2'000), Contains("0.png is 32768 x 1 pixels"));
  write_picture(folder.path() / "train/0.png", 32'769, 1, 10);
  CHECK_THROWS_WITH(first_image(1), Contains("0.png is too large: 32769 x 1 pixels"));
  // Sides that may be, of an area that may not.
  write_picture(folder.path() / "train/0.png", 1, 3, 10);
  CHECK_THROWS_WITH(first_image(8'192), Contains("0.png is 1 x 3 pixels, and 8192 x 24576"));
  CHECK(data::is_decodable(16'384, 8'192));
  CHECK_FALSE(data::is_decodable(16'385, 8'192));
  CHECK_FALSE(data::is_decodable(1, 32'769));
  // Of allowed sides: the header alone, before which nothing is reserved.
  const std::string head("IHDR\0\0\x80\0\0\0\x80\0\x8\0\0\0\0", 17);
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size());
  std::string checksum;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    checksum += static_cast<char>(sum >> shift & 0xFFU);
  testing::write_bytes(folder.path() / "train/0.png",
                       std::string("\x89PNG\r\n\x1a\n\0\0\0\r", 12) + head + checksum +
                           std::string("\0\0\0\x20IDAT", 8) + std::string(100, '\0'));
  const tensor::Allocations taken;
  CHECK_THROWS_WITH(first_image(1), Contains("0.png is too large: 32768 x 32768 pixels"));
  CHECK(taken.peak() < 1'000'000);
}
