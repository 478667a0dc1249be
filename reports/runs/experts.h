// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// How the rows of one window were shared among the experts of a bank: exact, of these rows.
struct ExpertLoad {
  std::int64_t step = 0;
  double rows = 0;                 ///< of all experts; a row counts in each that it was sent to
  double busiest = 0, idlest = 0;  ///< over the even share; 0: it saw no row
  std::string busiest_expert{};    ///< its layer
  std::size_t unused = 0;          ///< experts without a row
  double in_use = 0;               ///< exp of the entropy of their shares, over all experts
};

/// The experts of one layer, which share its tokens.
struct ExpertBank {
  std::string name;                  ///< of the layers, with * for the expert's number
  std::vector<std::string> experts;  ///< layers that were measured at any step, in natural order
  std::vector<ExpertLoad> loads;     ///< by step
};

/// By the names of the layers: "mlp.experts.down_proj.3" and "mlp.experts.3.w2" are of one bank
/// with those that differ in the number alone. The rows are those that the run counted in each
/// window; of an older run those of κ(Σ), unless its layers took turns. An expert that never saw a
/// row is not known.
std::vector<ExpertBank> expert_banks(const Arm& arm);

}  // namespace kappascope::reports
