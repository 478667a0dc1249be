// SPDX-License-Identifier: Apache-2.0
// An input is a list of tensors, repeated up to some thousands, of which a header is made: names,
// types, shapes and gaps are the input's, so that headers are long and most are accepted.
#include <array>
#include <optional>

#include "fuzz/safetensors.h"
#include "tensor/safetensors/safetensors.h"

namespace kappascope::fuzz {
namespace {

struct Type {
  const char* name;
  std::size_t bytes;
};
constexpr std::array<Type, 6> kTypes = {
    {{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"U8", 1}, {"I64", 8}, {"X9", 1}}};

struct Made {
  std::string file;
  std::size_t tensors = 0;
  bool plain = true;  ///< each name once, known types, no gap: the file must be accepted
};

Made made_of(Input input) {
  Made made;
  const std::size_t times = 1 + input.below(64) * input.below(64);
  struct Entry {
    std::string name;
    Type type;
    std::size_t rows, columns, gap;
  };
  std::vector<Entry> entries;
  while (!input.empty() && entries.size() < 16) {
    entries.push_back({input.text(),
                       kTypes[input.below(kTypes.size())],
                       input.below(4),
                       input.below(4),
                       input.below(16) == 15 ? input.below(3) : 0});
    // Letters alone: JSON's own escapes are the target safetensors'.
    for (auto& c : entries.back().name)
      c = static_cast<char>('a' + static_cast<unsigned char>(c) % 26);
  }
  std::string header = "{";
  std::size_t at = 0;
  for (std::size_t i = 0; i < times; ++i) {
    for (std::size_t j = 0; j < entries.size(); ++j) {
      const auto& [name, type, rows, columns, gap] = entries[j];
      // One in four entries has the same name each time, which is to be refused.
      const bool same = name.size() % 4 == 3;
      made.plain = made.plain && !(same && (times > 1 || entries.size() > 1)) && gap == 0 &&
                   type.name[0] != 'X';
      const auto end = at + gap + rows * columns * type.bytes;
      header += made.tensors == 0 ? "" : ",";
      header += '"' + name + (same ? "" : "." + std::to_string(i) + '.' + std::to_string(j)) +
                R"(":{"dtype":")" + type.name + R"(","shape":[)" + std::to_string(rows) + ',' +
                std::to_string(columns) + R"(],"data_offsets":[)" + std::to_string(at + gap) + ',' +
                std::to_string(end) + "]}";
      at = end;
      ++made.tensors;
    }
  }
  header += '}';
  made.file = bytes_of(static_cast<std::uint64_t>(header.size())) + header + std::string(at, '\1');
  return made;
}

void check_tensors(std::string_view bytes) {
  const auto path = scratch("tensors") / "read.safetensors";
  const auto made = made_of(Input(bytes));
  put(path, made.file);
  std::optional<tensor::SafetensorsFile> file;
  const bool read = accepted([&] { file.emplace(path); });
  expect(read || !made.plain, "a plain list of tensors is accepted");
  if (!read) return;
  expect(file->entries().size() == made.tensors, "every tensor has its entry");
  std::size_t held = 0;
  for (const auto& [name, entry] : file->entries()) {
    const auto tensor = file->mapped(name);
    expect(tensor.nbytes() == entry.end - entry.begin, "a tensor is as long as its bytes");
    held += tensor.nbytes();
  }
  expect(held < made.file.size(), "the tensors are no longer than the file");
}

std::vector<std::pair<std::string, std::string>> tensors_seeds() {
  const auto entry = [](const std::string& name, char type) {
    return text_of(name) + std::string{type, '\2', '\3', '\0'};
  };
  const std::string once(2, '\0'), often("\77\77", 2);
  return {{"seed-few", once + entry("a", '\0') + entry("bb", '\4')},
          {"seed-many", often + entry("a", '\0')},
          {"seed-twice", once + entry("abc", '\1') + entry("abc", '\1')},
          {"seed-unknown", once + entry("a", '\5')}};
}

const Registered kTensors({"tensors", check_tensors, tensors_seeds});

}  // namespace
}  // namespace kappascope::fuzz
