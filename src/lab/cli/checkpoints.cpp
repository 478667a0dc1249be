// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/checkpoints.h"

#include <exception>
#include <new>

#include "lab/train/checkpoint/checkpoint.h"

namespace kappascope::cli {

CheckedCheckpoints check_checkpoints(const std::filesystem::path& run) {
  CheckedCheckpoints found;
  for (const auto& file : train::checkpoint_files(run)) {
    if (train::checkpoint_step(file) < 0) {
      ++found.old;
      continue;
    }
    try {
      train::read_checkpoint(file);
      ++found.whole;
    } catch (const std::bad_alloc&) {
      throw;  // says nothing about the checkpoint
    } catch (const std::exception& error) {
      found.damage.emplace_back(error.what());
    }
  }
  return found;
}

}  // namespace kappascope::cli
