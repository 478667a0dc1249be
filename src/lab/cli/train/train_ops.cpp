// SPDX-License-Identifier: Apache-2.0
// The trainer of `kappascope train`, for Python to call in each process of a group.
#include <torch/library.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/outcome.h"
#include "kappascope/tensor/group.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/torch_errors.h"

namespace kappascope {
namespace {

/// `group`: the name of the c10d group of the processes that train together, "": this alone. The
/// exit status; what went wrong is on stderr.
int64_t train(const std::vector<std::string>& arguments, const std::string& group) {
  return cli::status_of(
      [&] {
        return cli::run_train_in(arguments, group.empty() ? nullptr : tensor::process_group(group));
      },
      cli::torch_message);
}

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  library.def("train(str[] arguments, str group) -> int", &kappascope::train);
}
