// SPDX-License-Identifier: Apache-2.0
// An input is: text or tokens of 16 or 32 bits and which part, length of a window, vocabulary (16
// bits), file.
#include "lab/data/tokens.h"

#include <torch/types.h>

#include <optional>

#include "fuzz/fuzz.h"

namespace kappascope::fuzz {
namespace {

void check_tokens(std::string_view bytes) {
  Input input(bytes);
  const auto kind = input.byte();
  const bool binary = kind % 2 == 1;
  const auto split = kind / 2 % 2 == 1 ? data::Split::kTest : data::Split::kTrain;
  data::TokenOptions options;
  options.bits = kind / 4 % 2 == 1 ? 32 : 16;
  options.length = input.byte();
  options.vocabulary = input.number<std::uint16_t>();
  auto path = scratch("tokens");
  if (binary) {
    put(path / "train.bin", input.rest());
    put(path / "val.bin", input.rest());
  } else {
    path /= "text.txt";
    put(path, input.rest());
  }
  const auto size = static_cast<int64_t>(input.rest().size());
  expect(data::holds_text(path) || !binary, "a folder of tokens is known");
  std::optional<data::TokenSource> source;
  if (!accepted([&] { source.emplace(path, split, options); })) return;
  expect(source->length() == options.length && source->size() >= 1, "there is a window");
  expect(binary ? source->tokens() * (options.bits / 8) == size : source->tokens() <= size,
         "there are no more tokens than the file holds");
  expect(source->size() * source->length() < source->tokens(), "the last window ends in the file");
  at::Tensor windows;
  if (!accepted([&] { windows = source->windows(torch::arange(source->size(), torch::kLong)); }))
    return;
  expect(windows.sizes() == at::IntArrayRef({source->size(), options.length + 1}),
         "a window holds one token more than it predicts");
  expect(windows.ge(0).logical_and(windows.lt(source->vocabulary())).all().item<bool>(),
         "tokens are those of the vocabulary");
}

std::vector<std::pair<std::string, std::string>> token_seeds() {
  const auto input = [](char kind, char length, std::uint16_t vocabulary, const std::string& file) {
    return std::string{kind, length} + bytes_of(vocabulary) + file;
  };
  return {{"seed-text", input(0, 3, 0, "In the beginning was the word.\n")},
          {"seed-text-test", input(2, 1, 256, "abcdefghijklmnopqrstuvwxyz")},
          {"seed-tokens", input(1, 2, 300, std::string("\1\0\2\0\3\1\4\0\5\0\6\0", 12))},
          {"seed-tokens-32", input(5, 1, 300, std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12))},
          {"seed-outside", input(3, 1, 3, std::string("\1\0\2\0\377\377", 6))}};
}

const Registered kTokens({"tokens", check_tokens, token_seeds});

}  // namespace
}  // namespace kappascope::fuzz
