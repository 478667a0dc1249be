// SPDX-License-Identifier: Apache-2.0
// An input is a study in parts: arms, seeds, a grid, metrics and regimes, of words that a study
// knows or of bytes, so that most inputs are accepted and reach the plan of the runs.
#include <array>

#include "fuzz/studies.h"

namespace kappascope::fuzz {
namespace {

/// One of the words, or for one draw in eight a text of the input.
template <std::size_t Count>
std::string word(const std::array<const char*, Count>& words, Input& input) {
  const auto drawn = input.below(256);
  return drawn % 8 == 7 ? input.text() : words.at(drawn / 8 % Count);
}

std::string setting(Input& input) {
  static constexpr std::array kNames = {
      "model.bias", "model.alpha", "model.dropout", "train.steps", "data.path", "probes.every"};
  return word(kNames, input);
}

std::string value(Input& input) {
  static constexpr std::array kValues = {
      "none", "post-gating", "0", "0.1", "1e-3", "true", "a/b", "..", "a b", "é"};
  return word(kValues, input);
}

std::string metric(Input& input) {
  static constexpr std::array kMetrics = {
      "loss/test", "accuracy/test", "spikes/count", "kappa/sigma", "hessian/lambda_max"};
  return word(kMetrics, input);
}

std::string label(Input& input) {
  static constexpr std::array kLabels = {
      "no bias", "PGB", ".", "..", "a/../b", "alpha 0.5", "A", "a"};
  return word(kLabels, input);
}

/// The arms all set the same names to values of their own, as those of a study do.
std::string study_of(Input input) {
  std::string text = "[train]\nsteps = 10\n[study]\n";
  const auto seeds = input.below(4), first = input.below(200);
  text += seeds == 0
              ? std::string("seeds = 3\n")
              : "seeds = " + std::to_string(first) + '-' + std::to_string(first + seeds) + '\n';
  text += "metrics =";
  for (auto i = input.below(3) + 1; i > 0; --i) text += ' ' + metric(input);
  const bool regime = input.flag();
  if (regime) text += "\nclaims = P-X3";
  text += "\n[arms]\n";
  std::string control;
  const auto name = setting(input);
  for (auto i = input.below(5) + 1; i > 0; --i) {
    const auto of_arm = label(input);
    if (control.empty()) control = of_arm;
    text += of_arm + " = " + name + '=' + value(input) + '\n';
  }
  if (input.flag()) {
    text += "[grid]\n";
    for (auto i = input.below(3) + 1; i > 0; --i) {
      text += setting(input) + " =";
      for (auto j = input.below(4) + 1; j > 0; --j) text += ' ' + value(input);
      text += '\n';
    }
  }
  if (regime) text += "[regime]\nP-X3 = " + metric(input) + " of " + control + " at least 0.1\n";
  return text;
}

bool planned(std::string_view bytes) {
  const auto folder = scratch("sweep");
  const auto file = folder / "definition.ini";
  put(file, study_of(Input(bytes)));
  return check_definition(file, folder / "runs");
}

void check_sweep(std::string_view bytes) {
  planned(bytes);
}

std::vector<std::pair<std::string, std::string>> sweep_seeds() {
  // Draws of words: eight times the place in the list. The first is a study of two arms by name.
  const std::string two{'\0', '\0', '\0', '\0', '\0', '\0', '\1', '\0', '\0', '\10', '\10', '\0'};
  const std::string grid{'\2',  '\1',  '\1', '\0', '\10', '\1', '\0',  '\1',  '\50', '\0',
                         '\70', '\10', '\1', '\0', '\20', '\2', '\20', '\30', '\40', '\10'};
  const std::string dots{
      '\0', '\0', '\0', '\0', '\0', '\0', '\2', '\20', '\0', '\30', '\10', '\40', '\20'};
  expect(planned(two) && planned(grid), "the seeds are accepted");
  return {{"seed-two", two}, {"seed-grid", grid}, {"seed-dots", dots}};
}

const Registered kSweep({"sweep", check_sweep, sweep_seeds});

}  // namespace
}  // namespace kappascope::fuzz
