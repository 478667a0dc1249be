// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/curvature/sampling.h"
#include "kappascope/curvature/spectrum.h"
#include "kappascope/store/run.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "lab/train/task.h"

namespace kappascope::cli {

/// What `kappascope spectrum` was asked for.
struct SpectrumRequest {
  std::string run, block, kind;
  int64_t rows = 1024;
  linalg::LanczosOptions lanczos;
  bool density = false, trace = false;
  std::string density_out;  ///< file for the density's numbers; empty: none
  int batches = 0;          ///< independent ones; 0: none
  double interval = 0;      ///< half width asked for, as a share of lambda_1; 0: none
  /// Nothing was said of the eigenvalues of a batch: those that the run has of it stay.
  bool pairs_by_default = false;
};

/// How much of an eigenvector lies in each parameter, the largest share first; they sum to one.
using Shares = std::vector<std::pair<std::string, double>>;

/// A part of the answer, with what it took.
template <typename Value>
struct Timed {
  Value value;
  double seconds = 0;
};

/// What it found.
struct SpectrumResult {
  int64_t checkpoint = 0;  ///< training steps taken
  int64_t rows = 0;        ///< of the batch
  int64_t parameters = 0;
  double learning_rate = std::numeric_limits<double>::quiet_NaN();  ///< of the last of those steps
  /// What the largest eigenvalue must stay below, where the operator is what the run's optimiser
  /// sees: its own limit, at that rate.
  double stability_limit = std::numeric_limits<double>::quiet_NaN();
  double product_noise = 0;
  std::string product_kind, product_reason, type;
  std::vector<std::string> names;  ///< of the parameters
  Timed<linalg::ExtremeEigenvalues> pairs;
  Eigen::VectorXd bounds;      ///< of the eigenvalues
  std::vector<Shares> shares;  ///< of the eigenvectors
  std::optional<Timed<linalg::Density>> density;
  std::optional<Timed<linalg::TraceEstimate>> trace;
  std::optional<Timed<curvature::SampledEigenvalues>> batches;
  std::optional<Timed<curvature::TopEigenvalue>> top_eigenvalue;
};

/// Everything that was asked for at the weights of a checkpoint, which are loaded; `rate`: the
/// learning rate of its last step. With progress on stderr.
SpectrumResult measure_spectrum(const SpectrumRequest& request,
                                const train::Task& task,
                                const train::Checkpoint& checkpoint,
                                double rate);

/// Of every vector, in the order of the values.
std::vector<Shares> all_shares(const curvature::Eigenpairs& pairs,
                               const curvature::NamedParameters& parameters);
/// The three largest: "head.weight 61 %, blocks.0.up_proj.weight 20 %, ...".
std::string text(const Shares& shares);

/// The newest learning rate that the run stored before this step; NaN for none.
double learning_rate_at(const store::RunReader& run, int64_t step);

/// Prints what the eigenvalues are worth, in words.
void print_certificate(const SpectrumResult& result);

/// The density for a terminal: intervals of the shares, the bulk, the outliers and a picture of a
/// line. `file`: where its numbers went; empty: nowhere.
std::string density_text(const linalg::Density& density, const std::string& file);

/// Its numbers as CSV: grid,density,lower,upper,cumulative,cumulative_lower,cumulative_upper.
std::string density_csv(const linalg::Density& density);

/// What it begins with, by which the file is known to be replaceable.
inline constexpr const char* kDensityMark = "grid,density,lower,upper,cumulative";

/// The result as the run store keeps it, by the names that src/store/README.md lists: one snapshot,
/// at the last training step before the checkpoint. A part that was not measured has no record, so
/// that an earlier one of the same operator, block and step stays; one that was is replaced whole.
/// The eigenvalues of the batch are among it only `with_pairs`.
store::Snapshot to_snapshot(const SpectrumRequest& request,
                            const SpectrumResult& result,
                            bool with_pairs);

/// Whether the run has eigenvalues of this operator and block at this checkpoint.
bool holds_pairs(const store::RunReader& run, const SpectrumRequest& request, int64_t checkpoint);

/// The result for a program.
nlohmann::json to_json(const SpectrumRequest& request, const SpectrumResult& result);

/// The result for a person, on stdout.
void print_text(const SpectrumRequest& request, const SpectrumResult& result);

}  // namespace kappascope::cli
