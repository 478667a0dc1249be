// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/own_files.h"
#include "core/require.h"
#include "kappascope/core/error.h"
#include "tensor/safetensors/mapped_file.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

bool is_gzip(const fs::path& file) {
  require_regular(file);
  char start[2] = {};
  std::ifstream in(file, std::ios::binary);
  in.read(start, 2);
  require(!in.bad(), "cannot read {}: {}", file.string(), std::strerror(errno));
  return start[0] == '\x1f' && start[1] == '\x8b';
}

/// NAME.bin, or NAME-*.bin in the order of their names; both where a folder has both.
std::vector<fs::path> token_files(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto file = entry.path().filename().string();
    if (file == name + ".bin" || (file.starts_with(name + "-") && file.ends_with(".bin")))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The text of a folder that holds nothing else; empty where that is not so.
fs::path text_in(const fs::path& folder) {
  fs::path found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!found.empty() || !entry.is_regular_file() || entry.path().extension() == ".bin") return {};
    found = entry.path();
  }
  return !found.empty() && holds_text(found) ? found : fs::path();
}

int64_t bytes_of(const fs::path& file) {
  const auto bytes = static_cast<int64_t>(fs::file_size(file));
  require(bytes > 0, "{} is empty", file.string());
  return bytes;
}

/// Tokens [n] as they are, int64.
at::Tensor numbers(const at::Tensor& stored) {
  auto out = stored.to(torch::kLong);
  if (stored.scalar_type() == torch::kInt16) out.bitwise_and_(0xFFFF);
  return out;
}

/// Throws Error with the place of the first token outside the vocabulary; `first`: the place of the
/// first of these.
void require_in(int64_t vocabulary, const at::Tensor& tokens, const fs::path& file, int64_t first) {
  const auto outside = tokens.lt(0).logical_or_(tokens.ge(vocabulary)).nonzero();
  if (outside.size(0) == 0) return;
  const auto at = outside[0][0].item<int64_t>();
  throw Error(fmt::format(
      "{} holds token {} at place {}, outside the vocabulary of {} (data.vocabulary), or its "
      "tokens are of another size (data.token-bits)",
      file.string(),
      tokens[at].item<int64_t>(),
      first + at,
      vocabulary));
}

/// Looks at the start and the end of a file, before hours are spent on it: a token outside the
/// vocabulary, or tokens of 32 bits that are taken for two of 16, the second of which is zero.
void require_in_vocabulary(const fs::path& file, const at::Tensor& stored, int64_t vocabulary) {
  constexpr int64_t kLook = 1 << 16, kTells = 16;
  const auto count = std::min(stored.size(0), kLook);
  for (const auto first : {int64_t{0}, stored.size(0) - count}) {
    const auto seen = numbers(stored.narrow(0, first, count));
    require_in(vocabulary, seen, file, first);
    if (stored.scalar_type() != torch::kInt16 || count < kTells) continue;
    const auto high = seen.slice(0, 1 - first % 2, {}, 2), low = seen.slice(0, first % 2, {}, 2);
    require(high.any().item<bool>() || !low.any().item<bool>(),
            "every second token of {} is 0, as in tokens of 32 bits: set data.token-bits = 32",
            file.string());
  }
}

}  // namespace

bool holds_text(const fs::path& path) {
  if (fs::is_directory(path)) {
    return (!token_files(path, "train").empty() && !token_files(path, "val").empty()) ||
           !text_in(path).empty();
  }
  if (!fs::is_regular_file(path)) return false;
  constexpr unsigned kLook = 4096;
  std::string start(kLook, '\0');
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(path.c_str(), "rb"), gzclose);
  require(in != nullptr, "cannot read {}: {}", path.string(), std::strerror(errno));
  // A packed file is looked at unpacked: TokenSource says what to do with a packed text.
  const int got = gzread(in.get(), start.data(), kLook);
  start.resize(static_cast<std::size_t>(std::max(got, 0)));
  return !start.empty() && !start.starts_with("\x93NUMPY") && start.find('\0') == std::string::npos;
}

TokenSource::TokenSource(const fs::path& given, Split split, const TokenOptions& options)
    : path_(fs::is_directory(given) && !text_in(given).empty() ? text_in(given) : given),
      length_(options.length),
      vocabulary_(options.vocabulary) {
  require(length_ > 0, "a window must predict at least one token, got {}", length_);
  require(options.bits == 16 || options.bits == 32,
          "a token file has tokens of 16 or 32 bits, got {}",
          options.bits);
  const auto& path = path_;
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
    require(!is_gzip(path),
            "{} is packed, and a text is read piece by piece: unpack it first (gunzip --keep)",
            path.string());
    require(vocabulary_ == 0 || vocabulary_ >= 256,
            "a text has 256 tokens, its bytes; the vocabulary is given as {}",
            vocabulary_);
    if (vocabulary_ == 0) vocabulary_ = 256;
    const auto all = tensor::mapped_tensor(path, torch::kUInt8);
    const auto first_held_out = bytes - bytes / 10;
    add(path,
        split == Split::kTrain ? all.narrow(0, 0, first_held_out)
                               : all.narrow(0, first_held_out, bytes - first_held_out));
    return;
  }
  const auto single = std::find_if(files.begin(), files.end(), [](const auto& file) {
    return file.filename() == "train.bin" || file.filename() == "val.bin";
  });
  require(single == files.end() || files.size() == 1,
          "{} is there, and so is {}: one of them is not meant",
          files.front().string(),
          files.back().string());
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
    add(file, tensor::mapped_tensor(file, options.bits == 16 ? torch::kInt16 : torch::kInt32));
    require_in_vocabulary(file, tokens_.back(), vocabulary_);
  }
}

void TokenSource::add(const fs::path& file, at::Tensor tokens) {
  require(tokens.size(0) > length_,
          "{} has {} tokens in this part, too few for one window of {} and the token after it",
          file.string(),
          tokens.size(0),
          length_);
  files_.push_back(file);
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + (tokens.size(0) - 1) / length_);
  tokens_.push_back(std::move(tokens));
}

int64_t TokenSource::tokens() const {
  int64_t sum = 0;
  for (const auto& file : tokens_) sum += file.size(0);
  return sum;
}

at::Tensor TokenSource::window(int64_t index) const {
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  require(index >= 0 && found < std::ssize(ends_),
          "{} has {} windows, and not number {}",
          path_.string(),
          size(),
          index);
  const auto file = static_cast<std::size_t>(found);
  const auto first = (index - (file == 0 ? 0 : ends_[file - 1])) * length_;
  const auto& stored = tokens_[file];
  auto tokens = numbers(stored.narrow(0, first, length_ + 1));
  if (stored.scalar_type() != torch::kUInt8) require_in(vocabulary_, tokens, files_[file], first);
  return tokens;
}

at::Tensor TokenSource::windows(const at::Tensor& indices) const {
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < indices.size(0); ++i) rows.push_back(window(indices[i].item<int64_t>()));
  return torch::stack(rows);
}

}  // namespace kappascope::data
