// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <memory>

#include "fuzz/images.h"

namespace kappascope::fuzz {
namespace {

constexpr std::size_t kStart = 10;  // magic, version, length

void check_npy(std::string_view bytes) {
  const auto file = scratch("npy") / "images.npy";
  put(file, bytes);
  std::unique_ptr<data::ImageSource> train, test;
  if (!accepted([&] {
        train = data::open_images(file, data::Split::kTrain);
        test = data::open_images(file, data::Split::kTest);
      }))
    return;
  expect(train->shape() == test->shape(), "both parts have one shape");
  const auto numbers =
      static_cast<std::size_t>((train->size() + test->size()) * train->shape().size());
  expect(numbers < bytes.size(), "all numbers stand in the file");
  double sum = 0;
  for (const char c : bytes.substr(bytes.size() - numbers)) sum += static_cast<unsigned char>(c);
  expect(check_images(*train) + check_images(*test) == sum, "each number is in one of the parts");
}

std::string npy(const std::string& dictionary, std::size_t numbers) {
  auto header = dictionary;
  while ((kStart + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += bytes_of(static_cast<std::uint16_t>(header.size())) + header;
  for (std::size_t i = 0; i < numbers; ++i) bytes += static_cast<char>(i);
  return bytes;
}

/// The length of the dictionary, and as many numbers as its shape says where they are few.
std::string repair_npy(std::string bytes) {
  const auto open = bytes.find('('), close = bytes.find(')', open), end = bytes.find('}', close);
  if (end == bytes.npos || bytes.size() < 12) return bytes;
  const bool wide = static_cast<unsigned char>(bytes[6]) >= 2;
  const std::size_t start = wide ? 12 : kStart;
  const std::size_t header = end + 2;
  if (header <= start || header - start > 0xFFFF) return bytes;
  std::size_t total = 1, number = 0;
  constexpr std::size_t kMost = 20'000;
  for (std::size_t i = open + 1; i <= close; ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (std::isdigit(c) != 0) number = std::min(number * 10 + (c - '0'), kMost);
    if (i > open + 1 && std::isdigit(c) == 0 && std::isdigit(bytes[i - 1]) != 0) {
      total = std::min(total * number, kMost);
      number = 0;
    }
  }
  bytes[0] = '\x93';
  bytes.replace(1, 5, "NUMPY");
  bytes.replace(8, 2, bytes_of(static_cast<std::uint16_t>(header - start)));
  if (wide) bytes.replace(10, 2, std::string(2, '\0'));
  if (total < kMost) bytes.resize(header + total, 'x');
  return bytes;
}

std::vector<std::pair<std::string, std::string>> npy_seeds() {
  const std::string of_bytes = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
  auto wide = npy(of_bytes + "10, 2, 2), }", 40);
  wide[6] = '\2';
  wide.insert(10, 2, '\0');
  return {{"seed-grey", npy(of_bytes + "12, 4, 5), }", 240)},
          {"seed-last", npy(of_bytes + "10, 3, 2, 3), }", 180)},
          {"seed-first", npy(of_bytes + "11, 1, 2, 4), }", 88)},
          {"seed-wide", wide}};
}

const Registered kNpy({"npy", check_npy, npy_seeds, repair_npy});

}  // namespace
}  // namespace kappascope::fuzz
