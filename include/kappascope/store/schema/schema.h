// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kappascope/store/record.h"
#include "kappascope/store/schema/status.h"

namespace kappascope::store {

/// Whose number it is: what stands in `layer`.
enum class Scope : std::uint8_t {
  kModel,      ///< of the whole model: `layer` is empty
  kLayer,      ///< of a down-projection
  kParameter,  ///< of one parameter tensor
};

/// Who writes it.
enum class Emitter : std::uint8_t {
  kTraining,        ///< the trainer and its session, in every run
  kClassification,  ///< a problem with classes, and its attacks
  kLayerProbe,      ///< a probe of schema/layer_probes.h
  kHessian,         ///< the probe of the Hessian
  kCriticalStep,    ///< that of the critical step
  kSpectrum,        ///< `kappascope spectrum`
};

/// Who reads it. What none of these reads is only stored, for a reason that its row gives.
enum Reader : std::uint8_t {
  kStoreOnly = 0,
  kFigure = 1,    ///< a figure of the report
  kFindings = 2,  ///< the sentences of the report
  kTable = 4,     ///< the report's table of condition numbers
  kStudy = 8,     ///< figures, tables or claims of a study
  kClaim = 16,    ///< `kappascope verify --run`
};

/// How well a number is known, and why it may be believed.
struct Provenance {
  std::string_view interval{};  ///< what the interval covers, or "exact: …"
  std::string_view source{};    ///< the estimator's: a paper, a definition
  std::string_view checked{};   ///< what it is seen equal to
  std::string_view cost{};
};

/// One row of the schema.
struct SeriesInfo {
  std::string name;  ///< "kappa/sigma"; of a family "hessian/lambda_K", "cost/PROBE",
                     ///< "spectrum/OPERATOR/BLOCK/lambda_1"
  std::string_view unit, meaning;
  Emitter emitter = Emitter::kTraining;
  std::string_view probe{};  ///< of Emitter::kLayerProbe: its name
  Scope scope = Scope::kModel;
  StatusSet statuses{};           ///< none for an array
  std::string_view attribute{};   ///< the key of the attribute it may have; empty: none
  bool array = false;             ///< of table `arrays`, `meaning` says the rows; else a scalar
  unsigned read_by = kStoreOnly;  ///< bits of Reader
  std::string_view why_only_stored{};  ///< where nobody reads it
  Provenance known{};                  ///< of what probes measure
};

/// Everything that a run may hold beside "user/...", in the order of the table in
/// src/store/README.md.
const std::vector<SeriesInfo>& schema();

/// The row of a series, nullptr for none ("user/..." has none). Costs a search by hash.
const SeriesInfo* find_series(std::string_view name, bool array = false);

/// Throws kappascope::Error where a name, a status or an attribute is not in the schema, with the
/// series and what is allowed. A name that begins with "user/" may have any attribute and any
/// status that has a meaning.
void require_in_schema(const Scalar& scalar);
void require_in_schema(const Array& array);
/// Everything that a snapshot holds, also that names are there and shapes fit.
void require_in_schema(const Snapshot& snapshot);

/// The table of src/store/README.md.
std::string schema_markdown();
/// The table of docs/QUANTITIES.md: what the probes measure, and how well it is known.
std::string quantities_markdown();

}  // namespace kappascope::store
