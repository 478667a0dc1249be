// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/require.h"
#include "tensor/safetensors/format.h"
#include "tensor/safetensors/safetensors.h"

namespace kappascope::tensor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoDigits = "00000000";

std::string_view name_of(at::ScalarType type, const std::string& tensor) {
  const auto known = std::find_if(kSafetensorsTypes.begin(),
                                  kSafetensorsTypes.end(),
                                  [&](auto& pair) { return type == pair.second; });
  require(known != kSafetensorsTypes.end(),
          "'{}' has a type that safetensors has not: {}",
          tensor,
          c10::toString(type));
  return known->first;
}

/// The length, little-endian, and the text of the header, its checksum all zeros.
std::string header_of(const NamedTensors& tensors, const Metadata& metadata) {
  // Said to be objects: a null that becomes one is lost where memory runs out (nlohmann-json 3.11).
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  auto& texts = header[kMetadata] = nlohmann::ordered_json::object();
  texts["crc32"] = kNoDigits;  // first: its place in the file is then known
  for (const auto& [name, text] : metadata) {
    require(name != "crc32", "the name 'crc32' is taken");
    texts[name] = text;
  }
  std::size_t reached = 0;
  for (const auto& [name, tensor] : tensors) {
    require(!header.contains(name), "the name '{}' is taken", name);
    const auto end = reached + tensor.nbytes();
    header[name] = {{"dtype", name_of(tensor.scalar_type(), name)},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {reached, end}}};
    reached = end;
  }
  auto text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // numbers begin at a multiple of 8
  const std::uint64_t length = text.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

}  // namespace

void SafetensorsChecksum::add(const void* bytes, std::size_t count) {
  // An empty tensor may have no address either, which zlib takes for "begin anew".
  if (count > 0) sum_ = crc32_z(sum_, static_cast<const Bytef*>(bytes), count);
}

std::string SafetensorsChecksum::digits() const {
  return fmt::format("{:08x}", sum_);
}

std::string safetensors_checksum(const std::byte* file, std::size_t length) {
  SafetensorsChecksum sum;
  sum.add(file, kChecksumAt);
  sum.add(kNoDigits, kChecksumDigits);
  const auto rest = kChecksumAt + kChecksumDigits;
  sum.add(file + rest, length - rest);
  return sum.digits();
}

void write_safetensors(const fs::path& path,
                       const NamedTensors& tensors,
                       const Metadata& metadata) {
  auto header = header_of(tensors, metadata);
  SafetensorsChecksum sum;
  sum.add(header.data(), header.size());
  const auto on_host = [](const at::Tensor& tensor) {
    return tensor.detach().to(at::kCPU).contiguous();
  };
  write_atomically(path, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const auto& [name, tensor] : tensors) {
      const auto flat = on_host(tensor);
      sum.add(flat.const_data_ptr(), flat.nbytes());
      out.write(static_cast<const char*>(flat.const_data_ptr()),
                static_cast<std::streamsize>(flat.nbytes()));
    }
    out.seekp(kChecksumAt);
    out << sum.digits();
    out.close();
    require(out.good(), "cannot write {}: {}", path.string(), std::strerror(errno));
  });
}

}  // namespace kappascope::tensor
