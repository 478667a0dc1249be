// SPDX-License-Identifier: Apache-2.0
// How the training ended: the loss that a person quotes, and how sure a difference is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "reports/runs/groups.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

/// "WHAT: a, b, c, d and 3 more.", of a single run "WHAT a."; nothing of nobody.
std::string sentence(const char* what, std::vector<std::string> runs, bool single) {
  if (runs.empty()) return "";
  if (single) return fmt::format("{} {}.", what, runs.front());
  constexpr std::size_t kFew = 4;
  if (runs.size() > kFew) {
    const auto more = runs.size() - kFew;
    runs.resize(kFew);
    runs.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}: {}.", what, listed(runs));
}

std::optional<Headline> of_divergence(const std::vector<Arm>& arms) {
  std::vector<std::string> ended, rose;
  const auto runs = runs_of(arms);
  const bool single = runs.size() == 1;
  for (const Arm* run : runs) {
    const auto whose = single ? "" : run->label + " ";
    if (const auto step = diverged_at(*run)) {
      ended.push_back(fmt::format("{}at step {}", whose, *step));
    } else if (const auto rise = rise_of(*run)) {
      rose.push_back(fmt::format("{}from {} to {}", whose, words(rise->first), words(rise->last)));
    }
  }
  const auto count = ended.size() + rose.size();
  if (count == 0) return std::nullopt;
  const auto trained = std::ranges::count_if(runs, [](const Arm* run) {
    return run->last_step >= 0 && !diverged_at(*run) && !rise_of(*run);
  });
  const auto first = sentence("The loss stopped being a number", ended, single);
  const auto second = sentence("The training loss rose", rose, single);
  return Headline{first + (first.empty() || second.empty() ? "" : " ") + second,
                  trained > 0    ? fmt::format("{} did not diverge.", counted(trained, "other run"))
                  : rose.empty() ? "Everything below is what was stored until then."
                                 : "What is below is of a training that did not work."};
}

std::string state_of(const Arm& arm) {
  if (arm.state == "finished") return "";
  return arm.state == "running" ? " so far" : ", where it stopped";
}

/// How many runs the numbers of the arms are of; empty for one run.
std::string basis_of(std::span<const Arm> arms) {
  const auto [least, most] = std::ranges::minmax_element(arms, {}, &Arm::seeds);
  if (most->seeds < 2) return arms.size() > 1 ? "one run per arm" : "";
  return least->seeds == most->seeds ? fmt::format("medians of {} seeds", most->seeds)
                                     : "medians over seeds";
}

/// The training loss of one batch is noise: the median of the last tenth, where there are enough.
std::optional<double> end_of_training(const Arm& arm) {
  constexpr std::size_t kEnough = 5;
  const auto& losses = arm.series(id::kLossTrain).values();
  const std::size_t count = losses.size() / 10;
  std::vector<double> end(losses.end() - static_cast<std::ptrdiff_t>(count), losses.end());
  std::erase_if(end, [](double loss) { return !std::isfinite(loss); });
  return end.size() < std::max(count, kEnough) ? std::nullopt : std::optional(median(end));
}

std::string training_loss_of(const Arm& arm, const store::StepValue& last) {
  const auto end = end_of_training(arm);
  if (!end)
    return fmt::format("Training loss {} at step {}{}",
                       words(last.scalar.value),
                       grouped(static_cast<double>(last.step)),
                       state_of(arm));
  const std::size_t steps = arm.series(id::kLossTrain).size() / 10;
  return fmt::format("Training loss {}, the median of the last {} steps{}",
                     words(*end),
                     grouped(static_cast<double>(steps)),
                     state_of(arm));
}

std::string median_text(const store::Scalar& loss) {
  const auto range = interval(loss);
  return fmt::format("The median; {}.", range.empty() ? status_text(loss) : range);
}

Headline of_one(const Arm& arm) {
  auto loss = arm.last(id::kLossTest);
  const bool is_test = loss.has_value();
  if (!loss) loss = arm.last(id::kLossTrain);
  if (!loss) {
    return arm.last_step < 0 ? Headline{"Nothing has been stored yet.", ""}
                             : Headline{"No loss was stored.", ""};
  }
  const auto& points = arm.series(loss->scalar.name);
  Headline out{is_test ? fmt::format("Test loss {} at step {}{}",
                                     words(loss->scalar.value),
                                     grouped(static_cast<double>(loss->step)),
                                     state_of(arm))
                       : training_loss_of(arm, *loss),
               arm.seeds > 1 ? median_text(loss->scalar) : "One run: another seed may differ.",
               basis_of({&arm, 1})};
  if (points.size() > 1 && std::isfinite(points.front().scalar.value))
    out.text +=
        fmt::format(" ({} at step {})", words(points.front().scalar.value), points.front().step);
  if (const auto accuracy = arm.last(id::kAccuracyTest))
    out.text += fmt::format(", accuracy {}", percent(accuracy->scalar.value));
  out.text += ".";
  return out;
}

/// What to say of the steps of two arms: nothing where they are as many.
std::string lengths_of(const Arm& a, const Arm& b) {
  if (a.last_step == b.last_step) return "";
  return fmt::format(
      "They have trained for {} and {} steps. ", grouped(steps_of(b)), grouped(steps_of(a)));
}

/// "; accuracy 88.1 % against 87.9 %", where both have one.
std::string accuracies_of(const Arm& base, const Arm& other) {
  const auto ours = other.last(id::kAccuracyTest), theirs = base.last(id::kAccuracyTest);
  if (!ours || !theirs) return "";
  return fmt::format(
      "; accuracy {:.2f} % against {:.2f} %", 100 * ours->scalar.value, 100 * theirs->scalar.value);
}

/// Which arm has none, or how many.
std::string without_test_loss(const std::vector<Arm>& arms) {
  std::vector<std::string> labels;
  for (const Arm& arm : arms)
    if (!arm.last(id::kLossTest)) labels.push_back(arm.label);
  if (labels.size() == arms.size()) return "none has a test loss";
  return labels.size() == 1 ? fmt::format("{} has no test loss", labels.front())
                            : fmt::format("{} of them have no test loss", labels.size());
}

/// Of two arms the training losses, which batches of their own give: the page compares none.
Headline without_comparison(const std::vector<Arm>& arms) {
  Headline out{fmt::format("{} arms, not compared: {}.", arms.size(), without_test_loss(arms)), ""};
  if (arms.size() != 2) return out;
  std::vector<std::string> losses;
  for (const Arm& arm : arms) {
    const auto loss = end_of_training(arm);
    if (!loss) return out;
    losses.push_back(fmt::format("{} at {}", arm.label, words(*loss)));
  }
  out.text = fmt::format("Training losses end with {}.", listed(losses));
  out.certainty = "Medians of the last tenth of the steps; a test loss would compare the arms.";
  out.basis = basis_of(arms);
  return out;
}

/// How sure the difference of the last test losses is: by pairs of seeds, where there are two.
std::string certainty_of(const std::vector<Arm>& arms, const Arm& best) {
  auto by_seed = loss_by_seed(best, arms.front());
  if (by_seed.empty()) return "Differences may be chance: " + how_to_be_surer(arms) + ".";
  if (arms.size() == 2) return by_seed;
  return fmt::format("{} It is the largest of {}: `kappascope compare` corrects for that.",
                     by_seed,
                     arms.size() - 1);
}

Headline of_several(const std::vector<Arm>& arms) {
  for (const Arm& arm : arms) {
    if (!same_problem(arms.front(), arm)) {
      return {fmt::format("{} arms that were trained on different problems.", arms.size()),
              "Their losses are not compared."};
    }
  }
  const auto base = arms.front().last(id::kLossTest);
  const Arm* best = nullptr;
  std::optional<store::StepValue> least;
  for (std::size_t a = 1; a < arms.size(); ++a) {
    const auto loss = arms[a].last(id::kLossTest);
    if (!loss || (least && !(loss->scalar.value < least->scalar.value))) continue;
    best = &arms[a];
    least = loss;
  }
  if (!base || best == nullptr) return without_comparison(arms);
  const auto told = as_difference(least->scalar.value, base->scalar.value);
  const auto by_seed = diagnose_loss(*best, arms.front());
  const bool is_chance = by_seed && by_seed->side == Side::kUndecided;
  const bool equal = least->scalar.value == base->scalar.value;
  return {
      fmt::format(
          "{} {} {}, {} {} ({}){}.",
          best->label,
          arms.size() > 2
              ? fmt::format("has the lowest test loss of the {} other arms,", arms.size() - 1)
              : "ends at test loss",
          told.a,
          is_chance ? "no sure difference to" : told.relation + (equal ? " to that of" : " than"),
          arms.front().label,
          told.b,
          accuracies_of(arms.front(), *best)),
      lengths_of(arms.front(), *best) + certainty_of(arms, *best),
      basis_of(arms)};
}

}  // namespace

Headline headline_of(const std::vector<Arm>& arms) {
  if (auto diverged = of_divergence(arms)) return *std::move(diverged);
  return arms.size() == 1 ? of_one(arms.front()) : of_several(arms);
}

}  // namespace kappascope::reports
