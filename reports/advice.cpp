// SPDX-License-Identifier: Apache-2.0
#include "reports/advice.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/printable.h"
#include "core/require.h"
#include "core/wrap.h"
#include "reports/advice/suggestions.h"
#include "reports/figures/builders.h"
#include "reports/findings/wording.h"

namespace kappascope::reports {
namespace {

constexpr const char* kOneBlock =
    "These are factors of one block of the Hessian at the features of the last window. They bound "
    "what gradient descent gains in that block, not the training time of the network.";
constexpr const char* kNotThere =
    "Training need not bring a bias to -μ (P-PATH). In the study centring it did not, also where "
    "it began there (P-CANCEL, P-STAY), and features that were kept centred ended at no lower loss "
    "(P-CENTRE): compare losses over several seeds.";
constexpr const char* kNotJoint =
    "A bias does not make the joint problem of weights and bias better conditioned in the worst "
    "case (P-JOINT'); what it leaves for W_d, once the bias has settled, is κ(Σ) (P-P1b').";
constexpr const char* kOutputBias =
    "An output bias reaches the same functions (P-OUT) and leaves the same κ(Σ). It does not "
    "change the gradient of W_d, so the variances below one are the post-gating bias's alone.";
constexpr const char* kAdam =
    "Adam scales each coordinate: compare kappa/second_moment_scaled with kappa/sigma_scaled, "
    "which `kappascope export` writes, before you expect as much of it.";

constexpr TextBlock kIndented{.width = 98, .column = 2, .indent = 2};

std::string in_words(const store::Scalar& scalar) {
  if (scalar.status == store::Status::kBiased) return "dominated by the error of sampling";
  if (scalar.status == store::Status::kNotResolvable) return "beyond what its rows can resolve";
  if (scalar.status == store::Status::kDegenerate) return "that of a singular matrix";
  return status_text(scalar);
}

std::string cause_of(const Arm& arm, const LayerBias& layer) {
  if (layer.in_steps) return "what the mean costs in steps to learn 90 % is not resolved";
  using Named = std::pair<const char*, std::string>;
  for (const auto& [words, name] :
       {Named("κ(Σ+μμᵀ)", id::kKappaSecondMoment), Named("κ(Σ)", id::kKappaSigma)}) {
    const auto point = arm.last(name, layer.layer);
    if (!point) return fmt::format("{} was not measured", words);
    if (!is_resolved(point->scalar)) {
      return fmt::format("{} is {} ({} effective rows)",
                         words,
                         in_words(point->scalar),
                         grouped(point->scalar.n_effective.value_or(0)));
    }
  }
  return "the quotient is no number";
}

std::string shown(const Ratio& ratio) {
  if (!ratio.lower || !ratio.upper) return fmt::format("{} (no interval)", words(ratio.value));
  return fmt::format("{} ({}: {} to {})",
                     words(ratio.value),
                     ratio.paired ? "95 %" : "at least 90 %",
                     words(*ratio.lower),
                     words(*ratio.upper));
}

std::string sentence_of(const Arm& arm, const LayerBias& layer) {
  switch (layer.decided) {
    case Verdict::kTooEarly:
      return "Not decided. " + too_early(arm, layer.step);
    case Verdict::kHelps:
      return "With the post-gating bias the block learns faster than it would without: keep it.";
    case Verdict::kHarms:
      return "With the post-gating bias the block learns more slowly than it would without.";
    case Verdict::kNotTaken:
      return "The mean costs a factor that the post-gating bias has not taken up so far.";
    case Verdict::kWorthATrial:
      return "The mean costs a factor that a post-gating bias or an output bias can take up: worth "
             "a trial with both, each against neither.";
    case Verdict::kUsual:
      return fmt::format(
          "The mean costs no more than is usual: {} to {} in 80 % of {} without a bias ({}).",
          words(layer.usual->low),
          words(layer.usual->high),
          counted(layer.usual->layers, "layer"),
          layer.usual->of);
    case Verdict::kMeanHelps:
      return "The mean helps here: without it the block would learn more slowly.";
    case Verdict::kNothingToGain:
      return "Nothing to gain: the mean costs less than 10 %.";
    case Verdict::kNegligible:
      return "The post-gating bias changes less than 10 % here.";
    default:
      return layer.mean_costs
                 ? "Not decided: the interval holds both no cost and one of 10 % and more. A "
                   "longer window would narrow it."
                 : "Not decided: " + cause_of(arm, layer) +
                       ". More rows per window, or a longer window, would resolve it.";
  }
}

std::string steps_with_interval(const store::Scalar& steps) {
  const auto bounds = interval(steps);
  return steps_in_words(steps) + (bounds.empty() ? "" : " (" + bounds + ")");
}

nlohmann::json or_null(const std::optional<double>& x) {
  return x && std::isfinite(*x) ? nlohmann::json(*x) : nlohmann::json(nullptr);
}

nlohmann::json json_of(const std::optional<store::Scalar>& steps) {
  if (!steps) return nullptr;
  return {{"value", or_null(steps->value)},
          {"lower", or_null(steps->lower)},
          {"upper", or_null(steps->upper)},
          {"status", steps->status.text()}};
}

nlohmann::json json_of(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"value", ratio->value},
          {"lower", or_null(ratio->lower)},
          {"upper", or_null(ratio->upper)},
          {"paired", ratio->paired},
          {"step", ratio->step}};
}

nlohmann::json json_of(const Diagnosis& answer) {
  auto evidence = nlohmann::json::array();
  for (const auto& [series, layer, step] : answer.evidence)
    evidence.push_back({{"series", series}, {"layer", layer}, {"step", step}});
  return {{"question", to_string(answer.question)},
          {"verdict", to_string(answer.verdict)},
          {"grade", to_string(answer.grade)},
          {"value", or_null(answer.value)},
          {"lower", or_null(answer.lower)},
          {"upper", or_null(answer.upper)},
          {"threshold", or_null(answer.threshold)},
          {"evidence", evidence},
          {"action", answer.action ? nlohmann::json(to_string(*answer.action)) : nullptr}};
}

}  // namespace

Advice advice(const std::filesystem::path& run) {
  const auto arms = read_arms({run});
  const Arm& arm = arms.front();
  const auto found = diagnose(arm);
  Advice out{.diagnosis = found.all()};
  for (const auto& bias : found.bias.layers) {
    LayerAdvice layer{bias};
    if (const auto steps = arm.newest(block_steps(arm, bias.layer), bias.layer))
      layer.steps = steps->scalar;
    layer.variance_at_minus_mean = variance_at(arm, bias.layer, id::kVarianceBiasMinusMean);
    layer.variance_at_best = variance_at(arm, bias.layer, id::kVarianceBiasMinimiser);
    layer.verdict = sentence_of(arm, bias);
    out.layers.push_back(std::move(layer));
  }
  require(!out.layers.empty(),
          "no down-projection was measured in {}, so there is nothing to advise on",
          run.string());
  out.suggestions = suggestions(arm, found);
  out.limits = {kOneBlock, kNotThere, kNotJoint, kOutputBias, kAdam};
  return out;
}

std::string to_text(const Suggestion& suggestion) {
  std::string what = suggestion.what;
  what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
  return fmt::format("{}: {}; try {}; it has worked if {}; not known: {}.",
                     what,
                     suggestion.evidence,
                     suggestion.attempt,
                     suggestion.success,
                     suggestion.unknown);
}

std::string to_text(const Advice& advice) {
  std::string text = advice.suggestions.empty()
                         ? "No number of this run asks for a change.\n"
                         : "What its numbers ask for, the most urgent first:\n";
  for (const auto& suggestion : advice.suggestions)
    text += "- " + wrapped(printable(to_text(suggestion)), kIndented);
  text += "The mean of each layer's features, and a bias:\n";
  for (const auto& layer : advice.layers) {
    text += fmt::format("{}  (step {}, {})\n",
                        printable(layer.layer),
                        layer.step,
                        layer.has_bias ? "with a post-gating bias" : "without a bias");
    const auto line = [&](const char* what, const std::optional<Ratio>& ratio) {
      if (ratio) text += fmt::format("  {:<44} {}\n", what, shown(*ratio));
    };
    if (layer.steps)
      text += fmt::format("  {:<44} {}\n",
                          "steps of gradient descent to learn 90 %:",
                          steps_with_interval(*layer.steps));
    line(layer.in_steps ? "the mean costs, in those steps:" : "the mean costs, κ(Σ+μμᵀ) / κ(Σ):",
         layer.mean_costs);
    line(layer.in_steps ? "the bias leaves, of those without a mean:" : "the bias leaves, of κ(Σ):",
         layer.bias_leaves);
    line(layer.in_steps ? "the bias changes them to, of those without:"
                        : "the bias changes κ(Σ+μμᵀ) to, of it:",
         layer.bias_changes);
    line("gradient variance at b = -μ, of that at 0:", layer.variance_at_minus_mean);
    line("gradient variance at the best b:", layer.variance_at_best);
    text += "  " + wrapped(layer.verdict, kIndented) + "\n";
  }
  text += "What this does not promise:\n";
  for (const auto& limit : advice.limits) text += "- " + wrapped(limit, kIndented);
  return text;
}

std::string to_json(const Advice& advice, const std::string& run) {
  auto layers = nlohmann::json::array(), suggestions = nlohmann::json::array();
  auto diagnosis = nlohmann::json::array();
  for (const auto& answer : advice.diagnosis) diagnosis.push_back(json_of(answer));
  for (const auto& each : advice.suggestions) {
    suggestions.push_back({{"what", each.what},
                           {"evidence", each.evidence},
                           {"attempt", each.attempt},
                           {"success", each.success},
                           {"unknown", each.unknown}});
  }
  for (const auto& layer : advice.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"step", layer.step},
                      {"has_bias", layer.has_bias},
                      {"in", layer.in_steps ? "steps" : "kappa"},
                      {"steps_to_learn", json_of(layer.steps)},
                      {"mean_costs", json_of(layer.mean_costs)},
                      {"bias_leaves", json_of(layer.bias_leaves)},
                      {"bias_changes", json_of(layer.bias_changes)},
                      {"variance_at_minus_mean", json_of(layer.variance_at_minus_mean)},
                      {"variance_at_best", json_of(layer.variance_at_best)},
                      {"verdict", layer.verdict}});
  }
  nlohmann::json all = {{"diagnosis", diagnosis},
                        {"suggestions", suggestions},
                        {"layers", layers},
                        {"limits", advice.limits}};
  if (!run.empty()) all["run"] = run;
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kappascope::reports
