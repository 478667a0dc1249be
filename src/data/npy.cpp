// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <fstream>
#include <regex>
#include <vector>

#include "data/pixels.h"
#include "kappascope/core/require.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

struct Header {
  std::vector<int64_t> shape;
  int64_t offset = 0;  ///< of the first value, in bytes
};

/// NumPy's format, versions 1 to 3: magic, version, length of the header, a Python dictionary.
Header read_header(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  require(in.good(), "cannot open {}", file.string());
  std::string start(12, '\0');
  in.read(start.data(), 12);
  require(in.gcount() == 12 && start.substr(0, 6) == "\x93NUMPY",
          "{} is not an NPY file: it does not begin with the magic \\x93NUMPY",
          file.string());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(start[i]); };
  const bool wide = byte(6) >= 2;
  const int64_t length = wide ? byte(8) | byte(9) << 8 | byte(10) << 16 | int64_t{byte(11)} << 24
                              : byte(8) | byte(9) << 8;
  Header header;
  header.offset = (wide ? 12 : 10) + length;
  require(length < 65536, "{} is damaged: its header has {} bytes", file.string(), length);
  std::string text(static_cast<std::size_t>(length), '\0');
  in.seekg(wide ? 12 : 10);
  in.read(text.data(), length);
  require(in.gcount() == length, "{} is truncated in its header", file.string());

  std::smatch match;
  require(std::regex_search(text, match, std::regex("'descr': *'([^']*)'")) && match[1] == "|u1",
          "{} must hold unsigned bytes ('|u1', numpy.uint8); its header is {}",
          file.string(),
          text);
  require(text.find("'fortran_order': False") != std::string::npos,
          "{} must be in C order: save numpy.ascontiguousarray(images)",
          file.string());
  require(std::regex_search(text, match, std::regex("'shape': *\\(([0-9, ]*)\\)")),
          "{} is damaged: its header has no shape",
          file.string());
  const std::string numbers = match[1];
  const std::regex number("[0-9]+");
  for (auto it = std::sregex_iterator(numbers.begin(), numbers.end(), number);
       it != std::sregex_iterator();
       ++it) {
    require(it->length() <= 10, "{} is damaged: its shape is {}", file.string(), numbers);
    header.shape.push_back(std::stoll(it->str()));
  }
  return header;
}

}  // namespace

Pixels map_npy(const fs::path& file, Split split) {
  const auto header = read_header(file);
  const auto& shape = header.shape;
  const bool grey = shape.size() == 3;
  const bool last = shape.size() == 4 && (shape[3] == 1 || shape[3] == 3);
  const bool first = shape.size() == 4 && (shape[1] == 1 || shape[1] == 3);
  const auto bytes = static_cast<int64_t>(fs::file_size(file));
  int64_t total = 1;
  for (const auto extent : shape) {
    require(extent == 0 || total <= bytes / extent,
            "{} is truncated or damaged: it has {} bytes, fewer than its header announces",
            file.string(),
            bytes);
    total *= extent;
  }
  require((grey || last || first) && total > 0,
          "{} must hold images as [n, height, width], or with 1 or 3 channels first or last, not "
          "shape ({})",
          file.string(),
          fmt::format("{}", fmt::join(shape, ", ")));
  require(bytes == header.offset + total,
          "{} is truncated or damaged: it has {} bytes, its header announces {}",
          file.string(),
          bytes,
          header.offset + total);
  auto values = torch::from_file(file.string(), /*shared=*/false, bytes, torch::kUInt8)
                    .narrow(0, header.offset, total)
                    .view(shape);
  if (grey) values = values.unsqueeze(1);
  if (last) values = values.permute({0, 3, 1, 2});
  // Every tenth is held out: views of the mapped file, so that nothing is read here.
  const auto n = values.size(0);
  require(n >= 10, "{} holds {} images; it takes ten to hold one out", file.string(), n);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < n; ++i) {
    if (held_out(i) == (split == Split::kTest)) chosen.push_back(i);
  }
  return {values, {}, 0, torch::tensor(chosen, torch::kLong)};
}

}  // namespace kappascope::data
