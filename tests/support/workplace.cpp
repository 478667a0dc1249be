// SPDX-License-Identifier: Apache-2.0
#include "support/workplace.h"

#include <sys/wait.h>

#include <array>
#include <cstdlib>

namespace kappascope::testing {
namespace {

/// Commands that only read runs are started in the program that pip installs: it is the one most
/// people have, and without LibTorch it starts 0.4 s sooner.
const char* program_of(const std::string& words) {
  constexpr std::array kReading = {"advise", "annotate", "export", "report", "runs"};
  const auto command = words.substr(0, words.find(' '));
  for (const auto* reading : kReading)
    if (command == reading) return KAPPASCOPE_READER;
  return KAPPASCOPE_PROGRAM;
}

}  // namespace

Output Workplace::run(const std::string& words, const std::string& before) const {
  const auto out = path() / "stdout.txt", err = path() / "stderr.txt";
  const auto command = "cd '" + path().string() + "' && " + before + " '" + program_of(words) +
                       "' " + words + " >'" + out.string() + "' 2>'" + err.string() + "'";
  const int raw = std::system(command.c_str());
  Output output;
  output.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  output.out = slurp(out);
  output.err = slurp(err);
  return output;
}

}  // namespace kappascope::testing
