// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/temporary_folder.h"
#include "support/files.h"
#include "support/idx.h"

namespace kappascope::testing {

struct Output {
  int status = 0;
  std::string out, err;
};

/// A folder with a small image set, in which the program is run by the shell.
class Workplace {
 public:
  Workplace() { write_image_set(folder_.path() / "data"); }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

  /// `words` after the program's name; `before` goes in front of it (a shell prefix).
  [[nodiscard]] Output run(const std::string& words, const std::string& before = "") const;

  /// The same, with a signal as soon as `file` exists: Ctrl-C or another. It comes twice at once,
  /// to the program and to its group, as from timeout and batch systems, which must count as one.
  /// Job control gives the program a group of its own, without which the shell has it ignore
  /// Ctrl-C. `before` as in run.
  [[nodiscard]] Output run_until(const std::string& words,
                                 const std::string& file,
                                 const std::string& signal = "INT",
                                 const std::string& before = "") const {
    return run(words,
               before +
                   R"( bash -c 'set -m; file=$1; signal=$2; shift 2; "$@" & )"
                   R"(while [ ! -e "$file" ] && kill -0 $!; do sleep 0.01; done; )"
                   R"(kill -s $signal -- $! -$!; wait $!' _ ')" +
                   file + "' " + signal);
  }

  /// A training command for a small model that takes about a second for 60 steps.
  [[nodiscard]] static std::string train(const std::string& more) {
    return "train --data data --model.width 6 --model.hidden 10 --model.blocks 2 --model.dropout "
           "0.2 "
           "--model.bias both --train.batch 32 --train.threads 1 "
           "--probes.every 10 --probes.budget "
           "0 "
           "--probes.hessian-every 20 --probes.hessian-rows 40 --probes.hessian-top 2 " +
           more;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace kappascope::testing
