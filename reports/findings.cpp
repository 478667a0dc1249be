// SPDX-License-Identifier: Apache-2.0
#include "reports/findings.h"

#include <array>
#include <cstddef>
#include <map>

#include "reports/findings/rules.h"

namespace kappascope::reports {
namespace {

constexpr const char* kLemma2 = "Lemma 2";

}  // namespace

std::string in_words(const std::string& id) {
  static const std::map<std::string, std::string> kWords = {
      {"damaged", "Damaged values"},
      {"nan_loss", "Loss that is no number"},
      {"probe_skipped", "Skipped probes"},
      {"nothing_measured", "Runs without a window"},
      {"probe_failed", "Probes that failed"},
      {"hessian_failed", "Hessian spectra that failed"},
      {"hessian_stopped", "Hessian spectra that were stopped"},
      {"hessian_budget", "Hessian spectra that the budget cut"},
      {"unfinished", "Runs that did not end"},
      {"test_loss", "Test losses against the first arm"},
      {"spikes", "Spikes of the loss"},
      {"alarm", "Alarms"},
      {"arm_kappa", "κ against the first arm"},
      {"learning_mean", "What the mean costs, in steps"},
      {"learning_left", "What the bias leaves, in steps"},
      {"kappa_ratio", "What the mean costs"},
      {"kappa_left", "What the bias leaves"},
      {"absorption", "What the bias absorbed"},
      {"bias_choice", "Gradient variance by choice of bias"},
      {"sharpness", "Sharpness"},
      {"spectrum", "Spectra at a checkpoint"},
      {"gradient_variance", "Lemma 2 against the measurement"},
      {"massive_activations", "Massive activations"},
      {"alignment", "Aligned gates"},
      {"eight_bit", "What FP8 would lose"},
      {"lost_updates", "Updates lost to rounding"},
      {"attention_logits", "Large attention logits"},
      {"expert_load", "Load of the experts"},
      {"unresolved", "Estimates that are not resolved"},
      {"broken_features", "Dead or constant features"},
      {"cost", "Cost of probing"}};
  const auto found = kWords.find(id);
  return found == kWords.end() ? "" : found->second;
}

bool is_about_documents(const Finding& finding) {
  return finding.topic == kLemma2;
}

std::vector<Finding> find_findings(const std::vector<Arm>& arms) {
  struct Part {
    const char* topic;
    void (*find)(const std::vector<Arm>&, Findings&);
  };
  static constexpr std::array<Part, 23> kParts = {{{"Trouble", find_trouble},
                                                   {"Loss", find_loss},
                                                   {"Loss", find_spike_findings},
                                                   {"Alarms", find_alarms},
                                                   {"Conditioning", find_learning},
                                                   {"Conditioning", find_arm_kappas},
                                                   {"Conditioning", find_kappa_ratio},
                                                   {"Conditioning", find_kappa_left},
                                                   {"Bias", find_absorption},
                                                   {"Bias", find_bias_choice},
                                                   {"Curvature", find_curvature},
                                                   {"Curvature", find_spectra},
                                                   {"Features and weights", find_massive},
                                                   {"Features and weights", find_alignment},
                                                   {"Features and weights", find_eight_bit},
                                                   {"Features and weights", find_lost_updates},
                                                   {"Features and weights", find_attention},
                                                   {"Features and weights", find_expert_load},
                                                   {kLemma2, find_gradient_variance},
                                                   {"Reliability", find_missing_windows},
                                                   {"Reliability", find_unresolved},
                                                   {"Reliability", find_broken_features},
                                                   {"Cost", find_cost}}};
  Findings found;
  for (const Part& part : kParts) {
    const std::size_t before = found.size();
    part.find(arms, found);
    for (std::size_t i = before; i < found.size(); ++i) found[i].topic = part.topic;
  }
  return found;
}

}  // namespace kappascope::reports
