// SPDX-License-Identifier: Apache-2.0
// One subcommand of the laboratory a file; each returns the exit status.
#pragma once

#include <memory>

#include "cli/command.h"

namespace kappascope::tensor {
class Group;
}

namespace kappascope::cli {

int run_train(const Arguments& arguments);
/// The same in one of the processes of a group, each of which calls it with the same arguments.
int run_train_in(const Arguments& arguments, const std::shared_ptr<tensor::Group>& group);
int run_spectrum(const Arguments& arguments);
int run_sweep(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_results(const Arguments& arguments);
int run_verify(const Arguments& arguments);

}  // namespace kappascope::cli
