// SPDX-License-Identifier: Apache-2.0
#include "kappascope/data/tokens.h"

#include <torch/types.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
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

}  // namespace

bool holds_text(const fs::path& path) {
  if (fs::is_directory(path)) return fs::exists(path / "train.bin") && fs::exists(path / "val.bin");
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
    : file_(path), length_(options.length), vocabulary_(options.vocabulary) {
  require(length_ > 0, "a window must predict at least one token, got {}", length_);
  const bool binary = fs::is_directory(path);
  if (binary) file_ = path / (split == Split::kTrain ? "train.bin" : "val.bin");
  require(fs::is_regular_file(file_),
          "cannot find {}: pass a text file, or a folder with train.bin and val.bin (16-bit "
          "tokens); on Debian `apt-get install bible-kjv bible-kjv-text` and `bible -f "
          "gen1:1-rev22:21 > kjv.txt` make a text",
          file_.string());
  const auto bytes = static_cast<int64_t>(fs::file_size(file_));
  require(bytes > 0, "{} is empty", file_.string());
  require(!is_gzip(file_),
          "{} is packed, and a text is read piece by piece: unpack it first (gunzip --keep)",
          file_.string());
  if (binary) {
    require(bytes % 2 == 0,
            "{} has an odd number of bytes ({}): it is truncated, or its tokens are not of 16 bits",
            file_.string(),
            bytes);
    require(vocabulary_ > 0 && vocabulary_ <= 65536,
            "{} does not say how many tokens there are: give the vocabulary (data.vocabulary, at "
            "most 65536), got {}",
            file_.string(),
            vocabulary_);
    tokens_ = torch::from_file(file_.string(), /*shared=*/false, bytes / 2, torch::kInt16);
  } else {
    require(vocabulary_ == 0 || vocabulary_ >= 256,
            "a text has 256 tokens, its bytes; the vocabulary is given as {}",
            vocabulary_);
    if (vocabulary_ == 0) vocabulary_ = 256;
    const auto all = torch::from_file(file_.string(), /*shared=*/false, bytes, torch::kUInt8);
    const auto first_held_out = bytes - bytes / 10;
    tokens_ = split == Split::kTrain ? all.narrow(0, 0, first_held_out)
                                     : all.narrow(0, first_held_out, bytes - first_held_out);
  }
  require(tokens_.size(0) > length_,
          "{} has {} tokens in this part, too few for one window of {} and the token after it",
          file_.string(),
          tokens_.size(0),
          length_);
}

at::Tensor TokenSource::windows(const at::Tensor& indices) const {
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < indices.size(0); ++i) {
    rows.push_back(tokens_.narrow(0, indices[i].item<int64_t>() * length_, length_ + 1));
  }
  auto out = torch::stack(rows).to(torch::kLong);
  if (tokens_.scalar_type() == torch::kInt16) {
    out.bitwise_and_(0xFFFF);
    const auto top = out.max().item<int64_t>();
    require(top < vocabulary_,
            "{} holds token {}, outside the vocabulary of {}",
            file_.string(),
            top,
            vocabulary_);
  }
  return out;
}

}  // namespace kappascope::data
