// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

#include "kappascope/data/images.h"

namespace kappascope::data {

struct TokenOptions {
  /// Tokens a window predicts; a window holds one more.
  int64_t length = 128;
  /// Of 16-bit token files, where nothing in the file says it; text has the 256 bytes.
  int64_t vocabulary = 0;
};

/// Whether `path` holds text or tokens as TokenSource reads them, judged by its first bytes: a file
/// that is neither packed nor NPY and has no zero byte, or a folder with train.bin and val.bin.
[[nodiscard]] bool holds_text(const std::filesystem::path& path);

/// A stream of tokens in consecutive windows, mapped from a file and read on demand.
class TokenSource {
 public:
  /// `path`: a text file, whose tokens are its bytes and whose last tenth is held out for the test
  /// part; or a folder with train.bin and val.bin, tokens as 16-bit little-endian integers. Throws
  /// Error naming the file and what is wrong with it: missing, empty, packed, an odd number of
  /// bytes, shorter than one window.
  TokenSource(const std::filesystem::path& path, Split split, const TokenOptions& options);

  /// Windows: window i holds tokens i·length to (i+1)·length, both included.
  [[nodiscard]] int64_t size() const { return (tokens_.size(0) - 1) / length_; }
  [[nodiscard]] int64_t tokens() const { return tokens_.size(0); }
  [[nodiscard]] int64_t vocabulary() const { return vocabulary_; }
  [[nodiscard]] int64_t length() const { return length_; }
  /// indices: [k] int64 -> [k, length + 1] int64. Throws Error when a token lies outside the
  /// vocabulary.
  [[nodiscard]] at::Tensor windows(const at::Tensor& indices) const;

 private:
  std::filesystem::path file_;
  at::Tensor tokens_;  // [n], uint8 or int16 (the bits of an unsigned one), mapped
  int64_t length_, vocabulary_;
};

}  // namespace kappascope::data
