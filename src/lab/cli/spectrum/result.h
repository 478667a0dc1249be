// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/curvature/sampling.h"
#include "kappascope/curvature/spectrum.h"
#include "kappascope/curvature/top_eigenvalue.h"

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

}  // namespace kappascope::cli
