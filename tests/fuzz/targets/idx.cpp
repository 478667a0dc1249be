// SPDX-License-Identifier: Apache-2.0
// An input is the length of the first file (16 bits), the file of images, the file of labels.
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "fuzz/images.h"

namespace kappascope::fuzz {
namespace {

constexpr std::size_t kImageHeader = 16, kLabelHeader = 8;

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8U | static_cast<unsigned char>(at + i < bytes.size() ? bytes[at + i] : 0);
  return value;
}

std::string big_endian(std::size_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift & 255U);
  return bytes;
}

struct IdxFiles {
  explicit IdxFiles(std::string_view bytes) {
    Input input(bytes);
    images = input.take(input.number<std::uint16_t>());
    labels = input.rest();
  }
  std::string_view images, labels;
};

std::string idx_input(const std::string& images, const std::string& labels) {
  return bytes_of(static_cast<std::uint16_t>(images.size())) + images + labels;
}

void check_idx(std::string_view bytes) {
  const IdxFiles files(bytes);
  const auto folder = scratch("idx");
  put(folder / "train-images-idx3-ubyte", files.images);
  put(folder / "train-labels-idx1-ubyte", files.labels);
  std::unique_ptr<data::ImageSource> set;
  if (!accepted([&] { set = data::open_images(folder, data::Split::kTrain); })) return;
  const auto sum = check_images(*set);
  // zlib also unpacks what is packed.
  if (files.images.starts_with("\x1f\x8b")) return;
  expect(set->size() == big_endian(files.images, 4) && set->size() == big_endian(files.labels, 4),
         "there are as many images as either header says");
  expect(set->shape() ==
             data::ImageShape{1, big_endian(files.images, 8), big_endian(files.images, 12)},
         "images are as large as the header says");
  double stored = 0;
  for (const char c : files.images.substr(kImageHeader)) stored += static_cast<unsigned char>(c);
  expect(sum == stored, "the pixels are the file's");
}

/// Magic numbers and extents that fit the bytes.
std::string repair_idx(std::string bytes) {
  const IdxFiles files(bytes);
  if (files.images.starts_with("\x1f\x8b") || files.images.size() <= kImageHeader) return bytes;
  std::string pixels(files.images.substr(kImageHeader));
  std::string labels(files.labels.substr(std::min(kLabelHeader, files.labels.size())));
  const std::size_t height = big_endian(files.images, 8) % 9,
                    width = big_endian(files.images, 12) % 9;
  const auto n = height * width == 0 ? 0 : pixels.size() / (height * width);
  pixels.resize(n * height * width);
  labels.resize(n, '\1');
  return idx_input(
      big_endian(0x0803) + big_endian(n) + big_endian(height) + big_endian(width) + pixels,
      big_endian(0x0801) + big_endian(n) + labels);
}

std::string packed(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 32, '\0');
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  expect(deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib works");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  expect(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib works");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<std::pair<std::string, std::string>> idx_seeds() {
  std::string pixels;
  for (int i = 0; i < 60; ++i) pixels += static_cast<char>(4 * i);
  const auto images = big_endian(0x0803) + big_endian(3) + big_endian(4) + big_endian(5) + pixels;
  const auto labels = big_endian(0x0801) + big_endian(3) + std::string("\0\2\1", 3);
  return {{"seed-plain", idx_input(images, labels)},
          {"seed-packed", idx_input(packed(images), packed(labels))},
          {"seed-short", idx_input(images.substr(0, 40), labels)}};
}

const Registered kIdx({"idx", check_idx, idx_seeds, repair_idx});

}  // namespace
}  // namespace kappascope::fuzz
