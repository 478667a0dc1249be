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

/// An NPY file of version 1 with values 0, 1, 2, ... modulo 256.
std::string npy(const std::string& shape, int values, const std::string& descr = "|u1") {
  auto header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  std::string bytes = std::string("\x93NUMPY\1", 7) + std::string(1, '\0');
  bytes.push_back(static_cast<char>(header.size() % 256));
  bytes.push_back(static_cast<char>(header.size() / 256));
  bytes += header;
  for (int i = 0; i < values; ++i) bytes.push_back(static_cast<char>(i % 256));
  return bytes;
}

}  // namespace

TEST_CASE("every tenth image of an NPY file is held out, channels first or last") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "faces.npy";
  testing::write_bytes(file, npy("20, 4, 5, 3", 20 * 60));
  const auto train = data::open_images(file, data::Split::kTrain),
             test = data::open_images(file, data::Split::kTest);
  CHECK(train->size() == 18);
  CHECK(test->size() == 2);
  CHECK(train->classes() == 0);
  CHECK_FALSE(train->labels(torch::arange(2)).defined());
  CHECK(train->shape() == data::ImageShape{3, 4, 5});
  // The second held-out image is number 19; channel 2 at row 3, column 4 is its last byte.
  CHECK(test->images(torch::tensor({1}))[0][2][3][4].item<float>() ==
        static_cast<float>((20 * 60 - 1) % 256) / 255);
  // Image 9 of the training part is number 10.
  CHECK(train->images(torch::tensor({9}))[0][0][0][0].item<float>() ==
        static_cast<float>(600 % 256) / 255);

  testing::write_bytes(file, npy("20, 3, 4, 5", 20 * 60));
  CHECK(data::open_images(file, data::Split::kTest)
            ->images(torch::tensor({0}))[0][1][0][2]
            .item<float>() == static_cast<float>((9 * 60 + 20 + 2) % 256) / 255);
  testing::write_bytes(file, npy("10, 4, 5", 200));
  CHECK(data::open_images(file, data::Split::kTrain)->shape() == data::ImageShape{1, 4, 5});
}

TEST_CASE("an invalid NPY file is an error that says why") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "faces.npy";
  const auto load = [&](const std::string& bytes) {
    testing::write_bytes(file, bytes);
    return data::open_images(file, data::Split::kTrain);
  };
  CHECK_THROWS_WITH(load("no array at all"), Contains("magic") && Contains("faces.npy"));
  CHECK_THROWS_WITH(load(npy("10, 2, 2", 40, "<f4")), Contains("unsigned bytes"));
  CHECK_THROWS_WITH(load(npy("10, 2, 2", 39)), Contains("truncated"));
  CHECK_THROWS_WITH(load(npy("10, 2, 2", 41)), Contains("damaged"));
  CHECK_THROWS_WITH(load(npy("10, 2, 2, 2", 80)), Contains("10, 2, 2, 2"));
  CHECK_THROWS_WITH(load(npy("9, 2, 2", 36)), Contains("takes ten"));
  CHECK_THROWS_WITH(load(npy("10, 2, 2", 40).substr(0, 40)), Contains("truncated"));
}

TEST_CASE("an NPY file of version 2 says the length of its header in four bytes") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "faces.npy";
  const auto old = npy("10, 2, 2", 40);
  auto bytes = old;
  bytes[6] = '\2';
  bytes.insert(10, 2, '\0');
  testing::write_bytes(file, bytes);
  const auto all = torch::arange(9);
  const auto images = data::open_images(file, data::Split::kTrain)->images(all);
  testing::write_bytes(file, old);
  CHECK(torch::equal(images, data::open_images(file, data::Split::kTrain)->images(all)));
  bytes[10] = '\1';  // 65,536 bytes more
  testing::write_bytes(file, bytes);
  CHECK_THROWS_WITH(data::open_images(file, data::Split::kTrain), Contains("its header has"));
}

TEST_CASE("a header without one of its entries, or of no images, is refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "faces.npy";
  const auto good = npy("10, 2, 2", 40);
  const auto refused = [&](std::string bytes, const std::string& why) {
    testing::write_bytes(file, bytes);
    CHECK_THROWS_WITH(data::open_images(file, data::Split::kTrain), Contains(why));
  };
  const auto with = [&](const std::string& entry, const std::string& other) {
    auto bytes = good;
    return bytes.replace(bytes.find(entry), entry.size(), other);
  };
  refused(good.substr(0, 8), "magic");
  refused(good.substr(0, 11), "magic");
  refused("\x93NUMPX" + good.substr(6), "magic");
  refused(with("'descr'", "'desxr'"), "unsigned bytes");
  refused(with("'fortran_order'", "'fortran_0rder'"), "C order");
  refused(with("False", "True "), "C order");
  refused(with("'shape'", "'shapX'"), "has no shape");
  refused(with("(10", "[10"), "has no shape");
  refused(with("2)", "2]"), "has no shape");
  refused(npy("", 40), "[n, height, width]");
  refused(npy("10, ", 40), "[n, height, width]");
  refused(npy("0, 2, 2", 40), "[n, height, width]");
  refused(npy("10, 2, 2, 1, 1", 40), "[n, height, width]");
  refused(npy("4000000000, 4000000000, 4", 40), "fewer than its header announces");
  testing::write_bytes(file, npy("10, 2, 2,", 40));
  CHECK(data::open_images(file, data::Split::kTrain)->size() == 9);
  testing::write_bytes(file, npy("10, 1, 2, 2", 40));
  CHECK(data::open_images(file, data::Split::kTrain)->shape() == data::ImageShape{1, 2, 2});
  testing::write_bytes(file, npy("10, 2, 2, 1", 40));
  CHECK(data::open_images(file, data::Split::kTrain)->shape() == data::ImageShape{1, 2, 2});
}

TEST_CASE("a header as long as headers may be is read without a deep recursion") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "faces.npy";
  const auto blanks = std::string(60'000, ' ');
  testing::write_bytes(file, npy(blanks + "10, 2, 2" + blanks.substr(59'000), 40));
  CHECK(data::open_images(file, data::Split::kTrain)->size() == 9);
  testing::write_bytes(file, npy("10, 2, 2", 40, std::string(60'000, 'x')));
  CHECK_THROWS_WITH(data::open_images(file, data::Split::kTrain), Contains("unsigned bytes"));
  for (const auto* shape :
       {"10, 2, 2 2", "10, 2, -2", "10,, 2, 2", "10, 2, 2e0", "10, 2, 99999999999"}) {
    CAPTURE(shape);
    testing::write_bytes(file, npy(shape, 40));
    CHECK_THROWS_WITH(data::open_images(file, data::Split::kTrain), Contains("its shape is"));
  }
}
