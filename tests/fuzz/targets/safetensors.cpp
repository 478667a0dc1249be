// SPDX-License-Identifier: Apache-2.0
#include "fuzz/safetensors.h"

#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tensor/safetensors/safetensors.h"

namespace kappascope::fuzz {
namespace {

void check_safetensors(std::string_view bytes) {
  const auto folder = scratch("safetensors");
  const auto path = folder / "read.safetensors", again = folder / "again.safetensors";
  put(path, bytes);
  std::optional<tensor::SafetensorsFile> file;
  if (!accepted([&] { file.emplace(path); })) return;
  std::size_t held = 0;
  tensor::NamedTensors tensors;
  const auto header = nlohmann::json::parse(
      bytes.substr(sizeof(std::uint64_t), Input(bytes).number<std::uint64_t>()));
  for (const auto& [name, entry] : file->entries()) {
    // The library makes whole numbers of fractions and of true.
    expect(header[name]["shape"] == nlohmann::json(entry.shape) &&
               header[name]["data_offsets"] == nlohmann::json({entry.begin, entry.end}),
           "shape and place are those of the header");
    const auto tensor = file->mapped(name);
    expect(tensor.sizes() == at::IntArrayRef(entry.shape) && tensor.scalar_type() == entry.type,
           "a tensor is as its entry says");
    expect(entry.begin <= entry.end && tensor.nbytes() == entry.end - entry.begin,
           "a tensor is as long as its bytes");
    held += tensor.nbytes();
    tensors.emplace_back(name, tensor);
  }
  expect(held < bytes.size(), "the tensors are no longer than the file");
  accepted([&] { file->require_whole(); });
  auto texts = file->metadata();
  texts.erase("crc32");
  tensor::write_safetensors(again, tensors, texts);
  const tensor::SafetensorsFile back(again);
  back.require_whole();
  auto texts_back = back.metadata();
  texts_back.erase("crc32");
  expect(texts_back == texts, "what is written holds the texts that were read");
  expect(back.entries().size() == tensors.size(), "what is written holds as many tensors");
  for (const auto& [name, tensor] : tensors)
    expect(same_bits(back.mapped(name), tensor),
           "what is written holds the tensors that were read");
}

std::vector<std::pair<std::string, std::string>> safetensors_seeds() {
  const auto path = scratch("safetensors") / "seed";
  tensor::write_safetensors(path,
                            {{"w", torch::arange(6, torch::kFloat).view({2, 3})},
                             {"b", torch::tensor({1, -1}, torch::kHalf)},
                             {"none", torch::empty({0, 4}, torch::kLong)},
                             {"one", torch::tensor(true)}},
                            {{"made by", "é"}});
  const auto whole = get(path);
  const std::string plain = R"({"b":{"dtype":"I16","shape":[3],"data_offsets":[0,6]}})";
  const std::string fraction = R"({"b":{"dtype":"U8","shape":[2.5],"data_offsets":[0,2]}})";
  const auto with = [](const std::string& header, std::size_t numbers) {
    return bytes_of(static_cast<std::uint64_t>(header.size())) + header +
           std::string(numbers, '\1');
  };
  return {{"seed-whole", whole},
          {"seed-plain", with(plain, 6)},
          {"seed-unaligned", with(plain + ' ', 6)},
          {"seed-fraction", with(fraction, 2)},
          {"seed-empty", with("{}", 0)}};
}

const Registered kSafetensors(
    {"safetensors", check_safetensors, safetensors_seeds, repair_safetensors});

}  // namespace
}  // namespace kappascope::fuzz
