// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "reports/diagnosis/diagnosis.h"
#include "reports/diagnosis/ratio.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

// One question each, a file each. They alone compare with thresholds; all else phrases.

/// Steps that were trained, as far as they are stored.
double steps_of(const Arm& arm);
/// Whether it lies in the first tenth of the run: what was measured there last decides nothing.
bool is_of_the_start(const Arm& arm, std::int64_t step);

struct WorstLayer : Diagnosis {
  std::optional<store::StepValue> point{};  ///< its last measurement, where a layer has one
  bool in_steps = false;                    ///< `point` is of steps to learn 90 %, else of κ
  std::vector<std::string> rivals{};  ///< layers that may be worse: their intervals reach as far
  std::int64_t oldest_step = 0;       ///< of the numbers of all layers: they may take turns
  std::int64_t newest_step = 0;
  bool of_failed = false;  ///< of a training whose loss rose: it says little of one that works
  std::optional<Usual> usual{};  ///< of a layer of this width at this stage, where `in_steps`
};
/// What it is: its number where that is resolved or a singular matrix's, else its lower end,
/// else 1.
double least_of(const store::Scalar& scalar);
/// Steps to learn of features that are all alike: there is nothing to learn.
bool is_empty(const store::Scalar& steps);
/// The layer that needs most steps of gradient descent to learn 90 %, by least_of().
WorstLayer slowest_layer_of(const Arm& arm);
/// The layer with the largest κ of the W_d block, by least_of().
WorstLayer worst_conditioned_of(const Arm& arm);
/// The slowest layer where learning times were measured, else the worst conditioned. Its grade is
/// open where the training loss rose.
WorstLayer worst_layer_of(const Arm& arm);

/// The sharpness of a whole training against what it must stay below.
struct Stability {
  struct Reading {
    std::int64_t step = 0;
    store::Scalar lambda{};
    double limit = 0;
    /// Where λ1 is not resolved, and its interval lies on one side of the limit all the same: that
    /// side. The value of `lambda` is the end of its interval that is nearest to the limit.
    std::optional<Side> bound{};

    [[nodiscard]] double share() const { return lambda.value / limit; }
    [[nodiscard]] Side side() const { return bound ? *bound : side_of(lambda, limit); }
  };
  /// By step, where λ1 has a limit and is resolved, or its interval decides.
  std::vector<Reading> readings{};
  /// λ1 is that of P^(-1/2) H P^(-1/2), and the limit the optimiser's. Else those of plain gradient
  /// descent: λ1 of the Hessian, and 2/rate.
  bool own = false;
  bool holds = false;  ///< that λ1 decides this optimiser's stability, and the limit is its own

  /// "preconditioned sharpness" or "sharpness λ1".
  [[nodiscard]] std::string name() const;
  /// The reading with the largest share, of those above the limit where there are any; there must
  /// be one.
  [[nodiscard]] const Reading& most() const;
  /// Above where any step is, as the loss may still fall there, at the edge of stability; below
  /// where every step is.
  [[nodiscard]] Side side() const;
};
/// By the optimiser's own limit where it was measured.
Stability stability_of(const Arm& run);
/// By the limit of plain gradient descent.
Stability descent_stability_of(const Arm& run);
/// The learning rate that was in force at `step`: the last one stored at or before it; 0 without.
double rate_at(const Arm& run, std::int64_t step);
/// The step from which on the loss was no number.
std::optional<std::int64_t> diverged_at(const Arm& run);

/// A training loss that ends above twice its first value, and above 1, as few losses do: those that
/// begin at zero, as a policy's, may rise while all is well.
struct Rise {
  double first = 0, last = 0;  ///< last: the median of the last tenth
  bool beyond_doubt = false;   ///< a thousand times as high: no objective that changes does that
};
std::optional<Rise> rise_of(const Arm& run);

struct RateDiagnosis : Diagnosis {
  const Arm* run = nullptr;         ///< of an arm over seeds the first of the worst
  std::size_t runs = 1, alike = 1;  ///< of the arm, and of these the ones of the same grade
  std::optional<std::int64_t> diverged{};
  std::optional<Rise> rise{};
  std::vector<Spike> spikes{};  ///< of the training loss that tell of the rate
  std::size_t all_spikes = 0, losses = 0;
  Stability stability{};

  /// Whether every λ1 that the optimiser saw stayed below its limit, as far as it was measured.
  [[nodiscard]] bool is_below_limit() const {
    return stability.holds && !stability.readings.empty() && stability.side() == Side::kBelow;
  }
};
RateDiagnosis diagnose_rate(const Arm& arm);

/// How the last test losses of two arms differ, by pairs of seeds.
struct LossDifference {
  PairedDifference difference{};
  Side side{};  ///< to no difference; undecided: it may be chance
};
/// Nothing below two pairs, where all differences are equal, or of different problems.
std::optional<LossDifference> diagnose_loss(const Arm& arm, const Arm& base);

struct BiasDiagnosis : Diagnosis {
  bool present = false;             ///< any layer has a post-gating bias
  bool of_failed = false;           ///< the training loss of every arm rose
  std::vector<LayerBias> layers{};  ///< of all arms
};
BiasDiagnosis diagnose_bias(std::span<const Arm> arms);

/// `point` is the critical batch of the layer whose lower end is the largest; its n the rows of a
/// step.
struct BatchDiagnosis : Diagnosis {
  std::optional<store::StepValue> point{};
};
BatchDiagnosis diagnose_batch(const Arm& arm);

// The evidence is every count above zero at the last measurement.
Diagnosis diagnose_precision(const Arm& arm);
Diagnosis diagnose_dead_units(const Arm& arm);

Diagnosis diagnose_feature_scale(const Arm& arm);

// Of the newest measurement of each layer; the layer that is surely worst. Neither is trouble of
// the training that was measured.
/// The criterion of Sun et al. 2024, "Massive activations in large language models"; `value` is the
/// largest |φ| over the median, which is not defined where half of the values are zero.
Diagnosis diagnose_massive(const Arm& arm);
/// `value` is the largest |cos| between a channel's rows of W_gate and W_up.
Diagnosis diagnose_alignment(const Arm& arm);
/// `value` is the share of the values that e4m3 rounds to zero.
Diagnosis diagnose_eight_bit(const Arm& arm);

struct TrustDiagnosis : Diagnosis {
  std::size_t all = 0, resolved = 0, damaged = 0;
  bool by_steps = false;  ///< of learning times, where an arm has any, else of condition numbers
};
TrustDiagnosis diagnose_trust(std::span<const Arm> arms);

struct ProbeCost {
  std::string probe{};
  double share = 0;                ///< of the training time
  std::optional<double> budget{};  ///< share that it may take, 0: any; where the run says
};

/// What probing took of a run, as it stored last.
struct Costs {
  double total = 0;                 ///< hooks and storing are in it, and in no probe's share
  std::vector<ProbeCost> probes{};  ///< the largest first

  /// Of all probes together, where each has one; 0: none.
  [[nodiscard]] double budget() const;
  /// Whether any probe, or every one, may take what it wants.
  [[nodiscard]] bool any_unlimited() const;
  [[nodiscard]] bool all_unlimited() const;
};
/// Nothing before the first window.
struct CostDiagnosis : Diagnosis {
  Costs costs{};
};
CostDiagnosis diagnose_cost(const Arm& arm);

/// All answers of one run.
struct Diagnoses {
  WorstLayer worst_layer{};
  RateDiagnosis rate{};
  BiasDiagnosis bias{};
  BatchDiagnosis batch{};
  Diagnosis precision{}, feature_scale{}, dead_units{}, massive{}, alignment{}, eight_bit{};
  TrustDiagnosis trust{};
  CostDiagnosis cost{};

  /// Those that ask for an action, the most urgent first.
  [[nodiscard]] std::vector<const Diagnosis*> next_steps() const;
  /// One a question, in their order.
  [[nodiscard]] std::vector<Diagnosis> all() const;
};
Diagnoses diagnose(const Arm& arm);

/// The answers of the arms that were measured, with their places; the one with the largest `key`,
/// which decides, first.
template <typename Of, typename Key>
auto by_arm(const std::vector<Arm>& arms, const Of& diagnose, const Key& key) {
  std::vector<std::pair<std::size_t, decltype(diagnose(arms.front()))>> out;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    auto found = diagnose(arms[a]);
    if (found.verdict != Verdict::kNotMeasured) out.emplace_back(a, std::move(found));
  }
  std::ranges::stable_sort(
      out, [&](const auto& x, const auto& y) { return key(x.second) > key(y.second); });
  return out;
}
/// Arms with learning times before those without.
std::vector<std::pair<std::size_t, WorstLayer>> worst_layers_of(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
