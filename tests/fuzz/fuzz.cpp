// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/temporary_folder.h"

namespace kappascope::fuzz {

namespace fs = std::filesystem;

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

bool write_seeds(int count, char** arguments) {
  if (count != 3 || std::string_view(arguments[1]) != "--seeds") return false;
  for (const auto& target : targets()) {
    const auto folder = fs::path(arguments[2]) / target.name;
    fs::create_directories(folder);
    for (const auto& [name, bytes] : target.seeds()) put(folder / name, bytes);
  }
  return true;
}

void expect(bool holds, std::string_view message) {
  if (holds) return;
  std::fprintf(stderr,
               "the property does not hold: %.*s\n",
               static_cast<int>(message.size()),
               message.data());
  std::abort();
}

fs::path scratch(const std::string& subfolder) {
  static const TemporaryFolder folder;
  auto path = folder / subfolder;
  fs::create_directories(path);
  return path;
}

void put(const fs::path& file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  expect(out.good(), "the scratch file can be written");
}

std::string get(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace kappascope::fuzz
