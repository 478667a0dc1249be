// SPDX-License-Identifier: Apache-2.0
// Runs every file of a target's corpus through its property once.
//   PROGRAM TARGET FOLDER|FILE...   replay; says how many inputs, and of which file a fault was
//   PROGRAM --seeds FOLDER          writes the inputs that corpora begin with to FOLDER/TARGET
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>

#include "fuzz/fuzz.h"

namespace kappascope::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(std::span<char*> arguments) {
  std::vector<fs::path> files;
  for (const fs::path path : arguments) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int replay(const std::string& name, const std::vector<fs::path>& files) {
  const auto& all = targets();
  const auto target =
      std::find_if(all.begin(), all.end(), [&](const Target& one) { return one.name == name; });
  if (target == all.end() || files.empty()) {
    std::fprintf(stderr, "no target %s in this program, or no inputs\n", name.c_str());
    return 2;
  }
  for (const auto& file : files) {
    // Before the input is tried: a fault ends the program.
    std::fprintf(stderr, "%s\n", file.c_str());
    target->check(get(file));
    if (target->repair) target->check(target->repair(get(file)));
  }
  std::printf("%s: %zu inputs\n", name.c_str(), files.size());
  return 0;
}

}  // namespace
}  // namespace kappascope::fuzz

int main(int count, char** values) {
  const std::span<char*> arguments(values, static_cast<std::size_t>(count));
  if (kappascope::fuzz::write_seeds(count, values)) return 0;
  if (count < 3) {
    std::fprintf(stderr, "use: %s TARGET FOLDER|FILE... | --seeds FOLDER\n", arguments[0]);
    return 2;
  }
  return kappascope::fuzz::replay(arguments[1], kappascope::fuzz::files_of(arguments.subspan(2)));
}
