// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// The tables of "Gated MLP with Isotropy Maintenance" against each other and against the text.
namespace kappascope::theory {

/// What is recomputed from the printed numbers, each standing for all that round to it.
enum class TableQuantity {
  kGap,             ///< 4.997 over 4.9266, less one, in percent
  kFinalLoss,       ///< the final loss of Table 1 less that of Table 2
  kExplainedShare,  ///< of the way from 5.7969 to 4.9970, what the rows of Table 1 with a name make
  kLastStep,        ///< 5.7201 - 4.9970
  kListedSteps,     ///< 5.7969 - 5.7201: all the rows with a name together
  kOtherNames,      ///< losses of Table 2 that Table 1 prints under another name
  kExpansion,       ///< feedforward over hidden dimension
};
const char* to_string(TableQuantity quantity);
Enclosure recomputed(TableQuantity quantity);

/// What is said of one of them.
struct TableStatement {
  TableQuantity quantity{};
  Enclosure value;
};
/// Agrees when a number can be both what is said and what is recomputed.
Verdict check_table(const TableStatement& says);

}  // namespace kappascope::theory
