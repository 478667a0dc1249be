// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {

int run_demo(const Arguments& arguments) {
  // Beside the program that pip installed stands the Python that it was installed for.
  std::error_code none;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "python3";
  const auto python = std::filesystem::exists(beside, none) ? beside.string() : "python3";
  // With -m, Python would look for packages in the folder where the user stands first, which may be
  // a stranger's.
  constexpr const char* kDemo =
      "import sys\n"
      "if sys.path[0] == '': del sys.path[0]\n"
      "try: from kappascope.demo import main\n"
      "except ModuleNotFoundError as error:\n"
      "  sys.exit(f'kappascope: error: {sys.executable} has no package {error.name}; start the '\n"
      "           'program that pip or ./quickstart installed beside a Python that has')\n"
      "sys.exit(main(sys.argv[1:]))";
  std::vector<std::string> words = {python, "-c", kDemo};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  throw Error(fmt::format("could not start {}: {}", python, std::strerror(errno)));
}

}  // namespace kappascope::cli
