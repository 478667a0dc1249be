// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <vector>

#include "lab/data/images.h"

namespace kappascope::data {

struct TokenOptions {
  /// Tokens a window predicts; a window holds one more.
  int64_t length = 128;
  /// Of token files, where nothing in the file says it; text has the 256 bytes.
  int64_t vocabulary = 0;
  /// Of a token in token files: 16, or 32 where there are more than 65,536 words.
  int bits = 16;
};

/// Whether `path` holds text or tokens, judged by its first bytes: a file that is no NPY file and
/// has no zero byte (a packed one, which TokenSource refuses, in what it packs), a folder of token
/// files, or a folder with such a file and nothing else.
[[nodiscard]] bool holds_text(const std::filesystem::path& path);

/// Tokens in consecutive windows, mapped from files and read on demand. No window lies in two
/// files.
class TokenSource {
 public:
  /// `given`: a text file, or a folder with it alone, whose tokens are its bytes and whose last
  /// tenth is held out for the test part; or a folder with train.bin or train-*.bin (in the order
  /// of their names) and val.bin or val-*.bin, tokens as little-endian integers of `bits` bits.
  /// Throws Error naming the file and what is wrong with it: missing, empty, packed, a fraction of
  /// a token, shorter than one window, a token outside the vocabulary at its start or end, 32 bits
  /// taken for 16.
  TokenSource(const std::filesystem::path& given, Split split, const TokenOptions& options);

  /// Windows: window i of a file holds its tokens i·length to (i+1)·length, both included; those of
  /// the next file follow.
  [[nodiscard]] int64_t size() const { return ends_.back(); }
  [[nodiscard]] int64_t tokens() const;
  [[nodiscard]] int64_t vocabulary() const { return vocabulary_; }
  [[nodiscard]] int64_t length() const { return length_; }
  /// indices: [k] int64 -> [k, length + 1] int64. Throws Error with file and place when a token
  /// lies outside the vocabulary.
  [[nodiscard]] at::Tensor windows(const at::Tensor& indices) const;

 private:
  void add(const std::filesystem::path& file, at::Tensor tokens);
  [[nodiscard]] at::Tensor window(int64_t index) const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  // Of each file: [n], uint8, int16 (the bits of an unsigned one) or int32, mapped; and how many
  // windows there are in it and those before it.
  std::vector<at::Tensor> tokens_;
  std::vector<int64_t> ends_;
  int64_t length_, vocabulary_;
};

}  // namespace kappascope::data
