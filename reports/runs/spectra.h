// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// What `kappascope spectrum` stored of one operator on one block of parameters: of each part the
/// newest, which may be of another checkpoint than the other parts.
struct StoredSpectrum {
  std::size_t arm = 0;
  std::string kind{}, block{};                          ///< "hessian", "*"
  std::int64_t step = 0;                                ///< of the eigenvalues, in the store
  std::int64_t checkpoint = 0;                          ///< training steps taken by then
  store::Status status{};                               ///< theirs
  std::vector<double> values{}, residuals{}, bounds{};  ///< descending
  std::vector<char> certified{};  ///< to be those of their ranks; empty: the run does not tell
  std::size_t top = 0;            ///< how many of them were asked for at each end
  bool has_largest = false, has_smallest = false;
  double tolerance = 0, rows = 0, parameters = 0, rate = 0;  ///< rate: 0 where not known
  double own_limit = 0;  ///< of the optimiser, which sees this operator; 0: not known

  /// "Hessian", "Gauss-Newton matrix of blocks.*.down_proj.weight".
  [[nodiscard]] std::string title() const;
  /// The name of a record.
  [[nodiscard]] std::string key(store::SpectrumPart quantity) const;
  /// λ1, λ2, … from the largest, λmin1, λmin2, … from the smallest.
  [[nodiscard]] std::string rank(std::size_t i) const;
  /// How many of the values are counted from the largest.
  [[nodiscard]] std::size_t from_largest() const;
  /// Whether a table over batches, which may have been measured at another time, has these ranks.
  [[nodiscard]] bool same_ranks(const std::vector<std::vector<double>>& batches,
                                const std::optional<store::StepValue>& from_largest) const;
  /// Whether the value stands for what it says: the residual is as small as was asked for, the
  /// bound leaves its sign, and it is certified to be that of its rank.
  [[nodiscard]] bool resolved(std::size_t i) const;
  /// The status, or "uncertified" where it converged and is not known to be that of its rank.
  [[nodiscard]] std::string_view worth(std::size_t i) const;
  /// Whether limit() is one for it: its largest eigenvalue is there, and the optimiser's own limit,
  /// or, of the Hessian or the Gauss-Newton matrix, a learning rate.
  [[nodiscard]] bool bounds_the_step() const;
  /// What the largest eigenvalue must stay below: for the optimiser itself, else for plain gradient
  /// descent at the rate of the checkpoint.
  [[nodiscard]] double limit() const { return own_limit > 0 ? own_limit : 2 / rate; }
  /// The same at another learning rate: each such limit falls with it.
  [[nodiscard]] double limit_at(double other_rate) const { return limit() * rate / other_rate; }
  /// "the optimiser's limit" or "2 / learning rate".
  [[nodiscard]] std::string limit_in_words() const;
};

/// All of all arms: the Hessian first, whole models before blocks, arms side by side.
std::vector<StoredSpectrum> stored_spectra(const std::vector<Arm>& arms);

/// The newest rows of a stored table, as many as `rows`; empty when it is not there or not such.
std::vector<std::vector<double>> newest_table(const Arm& arm,
                                              const std::string& name,
                                              std::size_t rows,
                                              const std::string& layer = "");

/// What the spectrum is worth, in plain words: two or three sentences without the arm's name.
std::string certificate(const StoredSpectrum& spectrum, const Arm& arm);

/// The largest learning rate that the run stored; 0 for none.
double largest_rate(const Arm& arm);

}  // namespace kappascope::reports
