// SPDX-License-Identifier: Apache-2.0
#include "kappascope/data/tokens.h"

#include <torch/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/core/require.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

bool is_gzip(const fs::path& file) {
  char start[2] = {};
  std::ifstream in(file, std::ios::binary);
  in.read(start, 2);
  require(!in.bad(), "cannot read {}: {}", file.string(), std::strerror(errno));
  return start[0] == '\x1f' && start[1] == '\x8b';
}

/// NAME.bin, or NAME-*.bin in the order of their names.
std::vector<fs::path> token_files(const fs::path& folder, const std::string& name) {
  if (fs::exists(folder / (name + ".bin"))) return {folder / (name + ".bin")};
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto file = entry.path().filename().string();
    if (file.starts_with(name + "-") && file.ends_with(".bin")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

int64_t bytes_of(const fs::path& file) {
  const auto bytes = static_cast<int64_t>(fs::file_size(file));
  require(bytes > 0, "{} is empty", file.string());
  require(!is_gzip(file),
          "{} is packed, and a text is read piece by piece: unpack it first (gunzip --keep)",
          file.string());
  return bytes;
}

}  // namespace

bool holds_text(const fs::path& path) {
  if (fs::is_directory(path))
    return !token_files(path, "train").empty() && !token_files(path, "val").empty();
  constexpr std::size_t kLook = 4096;
  std::string start(kLook, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(start.data(), kLook);
  require(!in.bad(), "cannot read {}: {}", path.string(), std::strerror(errno));
  start.resize(static_cast<std::size_t>(in.gcount()));
  const bool packed = start.rfind("\x1f\x8b", 0) == 0, npy = start.rfind("\x93NUMPY", 0) == 0;
  return !start.empty() && !packed && !npy && start.find('\0') == std::string::npos;
}

TokenSource::TokenSource(const fs::path& path, Split split, const TokenOptions& options)
    : path_(path), length_(options.length), vocabulary_(options.vocabulary) {
  require(length_ > 0, "a window must predict at least one token, got {}", length_);
  require(options.bits == 16 || options.bits == 32,
          "a token file has tokens of 16 or 32 bits, got {}",
          options.bits);
  const bool binary = fs::is_directory(path);
  const auto files = binary ? token_files(path, split == Split::kTrain ? "train" : "val")
                            : std::vector<fs::path>{path};
  require(
      !files.empty() && fs::is_regular_file(files.front()),
      "cannot find {}: pass a text file, or a folder with train.bin and val.bin (tokens of 16 or "
      "32 bits; also as train-*.bin and val-*.bin); on Debian `apt-get install bible-kjv "
      "bible-kjv-text` and `bible -f gen1:1-rev22:21 > kjv.txt` make a text",
      binary ? (path / (split == Split::kTrain ? "train.bin" : "val.bin")).string()
             : path.string());
  if (!binary) {
    const auto bytes = bytes_of(path);
    require(vocabulary_ == 0 || vocabulary_ >= 256,
            "a text has 256 tokens, its bytes; the vocabulary is given as {}",
            vocabulary_);
    if (vocabulary_ == 0) vocabulary_ = 256;
    const auto all = torch::from_file(path.string(), /*shared=*/false, bytes, torch::kUInt8);
    const auto first_held_out = bytes - bytes / 10;
    add(path,
        split == Split::kTrain ? all.narrow(0, 0, first_held_out)
                               : all.narrow(0, first_held_out, bytes - first_held_out));
    return;
  }
  const int64_t size = options.bits / 8, most = options.bits == 16 ? 65536 : INT32_MAX;
  for (const auto& file : files) {
    const auto bytes = bytes_of(file);
    require(
        bytes % size == 0,
        "{} has {} bytes, and its tokens have {}: it is truncated, or its tokens are of another "
        "size (data.token-bits)",
        file.string(),
        bytes,
        size);
    require(vocabulary_ > 0 && vocabulary_ <= most,
            "{} does not say how many tokens there are: give the vocabulary (data.vocabulary, at "
            "most {}), got {}",
            file.string(),
            most,
            vocabulary_);
    add(file,
        torch::from_file(file.string(),
                         /*shared=*/false,
                         bytes / size,
                         options.bits == 16 ? torch::kInt16 : torch::kInt32));
  }
}

void TokenSource::add(const fs::path& file, at::Tensor tokens) {
  require(tokens.size(0) > length_,
          "{} has {} tokens in this part, too few for one window of {} and the token after it",
          file.string(),
          tokens.size(0),
          length_);
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + (tokens.size(0) - 1) / length_);
  tokens_.push_back(std::move(tokens));
}

int64_t TokenSource::tokens() const {
  int64_t sum = 0;
  for (const auto& file : tokens_) sum += file.size(0);
  return sum;
}

at::Tensor TokenSource::window(int64_t index) const {
  const auto file = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  require(index >= 0 && file < std::ssize(ends_),
          "{} has {} windows, and not number {}",
          path_.string(),
          size(),
          index);
  const auto first = file == 0 ? 0 : ends_[static_cast<std::size_t>(file) - 1];
  return tokens_[static_cast<std::size_t>(file)].narrow(0, (index - first) * length_, length_ + 1);
}

at::Tensor TokenSource::windows(const at::Tensor& indices) const {
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < indices.size(0); ++i) rows.push_back(window(indices[i].item<int64_t>()));
  auto out = torch::stack(rows).to(torch::kLong);
  if (tokens_.front().scalar_type() == torch::kUInt8) return out;
  if (tokens_.front().scalar_type() == torch::kInt16) out.bitwise_and_(0xFFFF);
  const auto top = out.max().item<int64_t>(), bottom = out.min().item<int64_t>();
  require(top < vocabulary_ && bottom >= 0,
          "{} holds token {}, outside the vocabulary of {}",
          path_.string(),
          bottom < 0 ? bottom : top,
          vocabulary_);
  return out;
}

}  // namespace kappascope::data
