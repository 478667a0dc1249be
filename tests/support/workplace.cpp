// SPDX-License-Identifier: Apache-2.0
#include "support/workplace.h"

#include <sys/wait.h>

#include <cstdlib>

namespace kappascope::testing {

Output Workplace::run(const std::string& words, const std::string& before) const {
  const auto out = path() / "stdout.txt", err = path() / "stderr.txt";
  const auto command = "cd '" + path().string() + "' && " + before + " '" KAPPASCOPE_PROGRAM "' " +
                       words + " >'" + out.string() + "' 2>'" + err.string() + "'";
  const int raw = std::system(command.c_str());
  Output output;
  output.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  output.out = slurp(out);
  output.err = slurp(err);
  return output;
}

}  // namespace kappascope::testing
