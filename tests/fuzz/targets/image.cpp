// SPDX-License-Identifier: Apache-2.0
// An input is the kind of file, the side to which it is scaled, and a PNG or JPEG file, or the
// fields and the unpacked rows of a PNG file: bytes that are changed in packed rows reach little
// but zlib.
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <array>
#include <initializer_list>
#include <memory>

#include "fuzz/images.h"

namespace kappascope::fuzz {
namespace {

enum Kind : std::uint8_t { kPng, kJpeg, kRows };

std::string big_endian_of(std::size_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift & 255U);
  return bytes;
}

/// Pixels by the header alone; 0 where there is none.
std::int64_t area_of(std::string_view file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) != 0) {
    png_image_free(&image);
    return static_cast<std::int64_t>(image.width) * image.height;
  }
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  int width = 0, height = 0, sampling = 0, colours = 0;
  const auto* start = reinterpret_cast<const unsigned char*>(file.data());
  const int failed =
      tjDecompressHeader3(decoder.get(), start, file.size(), &width, &height, &sampling, &colours);
  return failed == 0 ? static_cast<std::int64_t>(width) * height : 0;
}

std::string chunk(const std::string& name, const std::string& content) {
  const auto named = name + content;
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(named.data()), named.size());
  return big_endian_of(content.size()) + named + big_endian_of(sum);
}

std::string zipped(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  expect(compress(reinterpret_cast<Bytef*>(out.data()),
                  &size,
                  reinterpret_cast<const Bytef*>(bytes.data()),
                  bytes.size()) == Z_OK,
         "zlib works");
  out.resize(size);
  return out;
}

/// Rows of `bytes` bytes behind their filters 0 to 4 in turn.
std::string png(std::size_t width,
                std::size_t height,
                char depth,
                char colour,
                std::size_t bytes,
                const std::string& between = "",
                bool interlaced = false) {
  std::string rows;
  for (std::size_t y = 0; y < height; ++y) {
    rows += static_cast<char>(y % 5);
    for (std::size_t x = 0; x < bytes; ++x) rows += static_cast<char>(x * 7 + y * 3);
  }
  const auto head = big_endian_of(width) + big_endian_of(height) +
                    std::string{depth, colour, '\0', '\0', interlaced ? '\1' : '\0'};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + between + chunk("IDAT", zipped(rows)) +
         chunk("IEND", "");
}

/// A PNG file of whole chunks: its fields, then chunks by name, then the rows with their filters.
std::string png_of(Input& input) {
  static constexpr std::array kNames = {
      "PLTE", "tRNS", "gAMA", "sRGB", "bKGD", "IDAT", "IEND", "abCd"};
  const auto width = input.below(48), height = input.below(48);
  auto head = big_endian_of(width) + big_endian_of(height);
  for (int i = 0; i < 5; ++i) head += static_cast<char>(input.below(i == 0 ? 17 : 8));
  auto file = "\x89PNG\r\n\x1a\n" + chunk("IHDR", head);
  for (auto i = input.below(4); i > 0; --i) {
    const std::string name = kNames.at(input.below(kNames.size()));
    const auto content = input.text();
    file += chunk(name, name == "IDAT" ? zipped(content) : content);
  }
  return file + chunk("IDAT", zipped(std::string(input.rest()))) + chunk("IEND", "");
}

void check_image(std::string_view bytes) {
  Input input(bytes);
  const auto folder = scratch("image");
  std::filesystem::remove(folder / "a.png");
  std::filesystem::remove(folder / "a.jpg");
  const auto kind = static_cast<Kind>(input.below(3));
  const auto file = folder / (kind == kJpeg ? "a.jpg" : "a.png");
  const auto side = static_cast<int64_t>(input.below(40));
  const auto content = kind == kRows ? png_of(input) : std::string(input.rest());
  put(file, content);
  // Images between these and the limit of the reader are decoded at a cost that tells nothing.
  constexpr std::int64_t kSmall = 1 << 17, kLimit = 1 << 27;
  const auto area = area_of(content);
  if (area > kSmall && area <= kLimit) return;
  std::unique_ptr<data::ImageSource> set;
  if (!accepted([&] { set = data::open_images(folder, data::Split::kTrain, {.size = side}); }))
    return;
  expect(side > 0 && set->size() == 1 && set->classes() == 0, "the folder is one image");
  expect(set->shape() == data::ImageShape{3, side, side}, "it is scaled to what was asked for");
  const bool decoded = !std::isnan(check_images(*set));
  expect(!decoded || content.starts_with("\x89PNG") || content.starts_with("\xff\xd8\xff"),
         "nothing but PNG and JPEG is decoded");
  expect(!decoded || (area > 0 && area <= kLimit),
         "what was decoded has a header and is not too large");
}

std::string marker(unsigned char kind, const std::string& content) {
  const auto size = content.size() + 2;
  return std::string{'\xff',
                     static_cast<char>(kind),
                     static_cast<char>(size / 256),
                     static_cast<char>(size % 256)} +
         content;
}

/// Flat grey or flat colour: one code each, "no difference" and "end of block", both the bit 0.
std::string jpeg(bool progressive, int components) {
  std::string frame{'\10', '\0', '\20', '\0', '\20', static_cast<char>(components)};
  std::string scan{static_cast<char>(components)};
  for (char c = 1; c <= components; ++c) {
    frame += std::string{c, c == 1 && components > 1 ? '\x22' : '\x11', '\0'};
    scan += std::string{c, '\0'};
  }
  const std::string one_code = '\1' + std::string(15, '\0') + '\0';
  std::string out = "\xff\xd8";
  out += marker(0xDB, '\0' + std::string(64, '\10'));
  out += marker(progressive ? 0xC2 : 0xC0, frame);
  out += marker(0xC4, '\0' + one_code) + marker(0xC4, '\20' + one_code);
  const std::string bits(8, '\0');
  if (progressive) {
    out += marker(0xDA, scan + std::string{'\0', '\0', '\0'}) + bits;
    out += marker(0xDA, std::string{'\1', '\1', '\0', '\1', '\77', '\0'}) + bits;
  } else {
    out += marker(0xDA, scan + std::string{'\0', '\77', '\0'}) + bits;
  }
  return out + "\xff\xd9";
}

std::vector<std::pair<std::string, std::string>> image_seeds() {
  const auto as = [](bool jpg, char side, const std::string& file) {
    return std::string{jpg ? '\1' : '\0', side} + file;
  };
  const auto fields = [](std::initializer_list<char> numbers, std::size_t bytes) {
    return std::string{'\2', '\5'} + std::string(numbers) + std::string(bytes, '\1');
  };
  const auto palette =
      chunk("PLTE", std::string(48, '\33')) + chunk("tRNS", std::string(16, '\11'));
  return {{"seed-grey.png", as(false, 4, png(7, 6, 8, 0, 7))},
          {"seed-colour.png", as(false, 9, png(5, 6, 8, 2, 15))},
          {"seed-alpha16.png", as(false, 3, png(3, 5, 16, 6, 24))},
          {"seed-palette.png", as(false, 8, png(9, 5, 4, 3, 5, palette))},
          {"seed-bits-interlaced.png", as(false, 2, png(1, 1, 1, 0, 1, "", true))},
          {"seed-grey.jpg", as(true, 8, jpeg(false, 1))},
          {"seed-colour.jpg", as(true, 8, jpeg(false, 3))},
          {"seed-progressive.jpg", as(true, 8, jpeg(true, 1))},
          {"seed-gif.png",
           as(false,
              1,
              std::string("GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;",
                          35))},
          {"seed-rows-grey", fields({6, 3, 8, 0, 0, 0, 0, 0}, 3 * 7)},
          {"seed-rows-colour", fields({4, 4, 8, 2, 0, 0, 0, 0}, 4 * 13)},
          {"seed-rows-adam7", fields({9, 9, 8, 6, 0, 0, 1, 0}, 400)},
          {"seed-huge.png", as(false, 4, png(32'768, 32'767, 1, 0, 1))}};
}

/// The length of the packed pixels of a PNG, and the checksums of its chunks: without them the
/// reader would look no further.
std::string repair_image(std::string bytes) {
  const auto data = bytes.find("IDAT"), end = bytes.find("IEND", data);
  if (end != bytes.npos && data >= 4 && end >= data + 12)
    bytes.replace(data - 4, 4, big_endian_of(end - data - 12));
  constexpr std::size_t kMark = 8, kAround = 12;  // length, name and checksum of a chunk
  const auto start = bytes.find("\x89PNG\r\n\x1a\n");
  if (start == bytes.npos) return bytes;
  for (auto at = start + kMark; at + kAround <= bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length = length << 8U | static_cast<unsigned char>(bytes[at + i]);
    if (length > bytes.size() - at - kAround) break;
    const auto* named = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    bytes.replace(at + 8 + length, 4, big_endian_of(crc32_z(0, named, length + 4)));
    at += kAround + length;
  }
  return bytes;
}

const Registered kImage({"image", check_image, image_seeds, repair_image});

}  // namespace
}  // namespace kappascope::fuzz
