// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/arms.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/require.h"
#include "kappascope/core/surges.h"

namespace kappascope::reports {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string digits_at(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string digits = text.substr(at, end - at);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::string folder_name(const std::filesystem::path& dir) {
  const auto path = std::filesystem::absolute(dir).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

void append_to(Arm::Arrays& arrays, const store::RunReader& run, const store::SeriesKey& key) {
  auto found = run.arrays(key, arrays.empty() ? store::RunReader::kFirstStep : arrays.back().first);
  if (!found.empty() && !arrays.empty()) arrays.pop_back();
  std::ranges::move(found, std::back_inserter(arrays));
}

}  // namespace

void label_arms(std::vector<Arm>& arms) {
  std::map<std::string, int> uses;
  for (Arm& arm : arms) {
    arm.label = arm.fact("label");
    if (arm.label.empty()) arm.label = folder_name(arm.dir);
    ++uses[arm.label];
  }
  for (Arm& arm : arms) {
    const auto condition = arm.fact("condition");
    if (uses[arm.label] > 1 && !condition.empty()) arm.label += ", " + condition;
  }
  uses.clear();
  for (const Arm& arm : arms) ++uses[arm.label];
  std::set<std::string> taken;
  for (Arm& arm : arms) {
    if (uses[arm.label] > 1) arm.label += " (" + folder_name(arm.dir) + ")";
    const std::string wanted = arm.label;
    for (int k = 2; !taken.insert(arm.label).second; ++k) {
      arm.label = wanted + " #" + std::to_string(k);
    }
  }
}

void read_on(const store::RunReader& run, const store::SeriesKey& key, Arm& arm) {
  Points& points = arm.scalars[key];
  bool again = !points.empty();
  const auto from = again ? points.steps().back() : store::RunReader::kFirstStep;
  run.visit_scalars(key, from, [&](store::StepValue point) {
    if (std::exchange(again, false)) points.pop_back();
    points.push_back(std::move(point));
  });
}

void read_on(const store::RunReader& run, Arm& arm) {
  arm.dir = run.dir();
  arm.state = run.state();
  arm.last_step = run.last_step();
  arm.last_written = run.last_written();
  arm.facts = run.facts();
  for (const auto& key : run.series()) read_on(run, key, arm);
  for (const auto& key : run.array_series()) append_to(arm.arrays[key], run, key);
  arm.spikes = find_spikes(arm.series(id::kLossTrain).values());
  std::erase_if(arm.spikes, [](const Spike& spike) { return !std::isfinite(spike.peak); });
  arm.events = run.events();
  arm.verdicts = run.verdicts();
  // Rows of an earlier reading are not looked at again.
  std::set<std::string> damaged(arm.damaged.begin(), arm.damaged.end());
  std::ranges::copy(run.damaged(), std::inserter(damaged, damaged.end()));
  arm.damaged.assign(damaged.begin(), damaged.end());
}

bool same_problem(const Arm& a, const Arm& b) {
  for (const char* key : {"data", "loss"}) {
    const auto left = a.fact(key);
    const auto right = b.fact(key);
    if (!left.empty() && !right.empty() && left != right) return false;
  }
  return true;
}

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string x = digits_at(a, i);
      const std::string y = digits_at(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      while (i < a.size() && is_digit(a[i])) ++i;
      while (j < b.size() && is_digit(b[j])) ++j;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if ((a.size() - i) != (b.size() - j)) return (a.size() - i) < (b.size() - j);
  return a < b;  // "x1" and "x01" are different layers
}

const Points& Arm::series(const std::string& name, const std::string& layer) const {
  static const Points none;
  const auto found = scalars.find({name, layer});
  return found == scalars.end() ? none : found->second;
}

std::optional<store::StepValue> Arm::last(const std::string& name, const std::string& layer) const {
  return series(name, layer).last_number();
}

std::optional<store::StepValue> Arm::newest(const std::string& name,
                                            const std::string& layer) const {
  const Points& points = series(name, layer);
  if (points.empty()) return std::nullopt;
  return points.back();
}

std::string Arm::fact(const std::string& key) const {
  for (const auto& [name, value] : facts) {
    if (name == key) return value;
  }
  return "";
}

bool Arm::has(const std::string& prefix) const {
  const auto begins = [&](const auto& entry) { return entry.first.name.rfind(prefix, 0) == 0; };
  return std::any_of(scalars.begin(), scalars.end(), begins) ||
         std::any_of(arrays.begin(), arrays.end(), begins);
}

std::vector<Arm> read_arms(const std::vector<std::filesystem::path>& runs) {
  require(!runs.empty(), "a report needs at least one run");
  std::vector<Arm> arms;
  arms.reserve(runs.size());
  for (const auto& dir : runs) read_on(store::RunReader(dir), arms.emplace_back());
  label_arms(arms);
  return arms;
}

std::vector<Spike> telling_spikes(const Arm& arm) {
  auto spikes = arm.spikes;
  if (spikes.empty()) return spikes;
  const auto& losses = arm.series(id::kLossTrain).values();
  if (std::ranges::any_of(losses, [](double loss) { return loss <= 0; })) return spikes;
  constexpr double kFactor = 1.1;  // a tenth more loss is of consequence
  const auto surges = find_surges(losses, {.factor = kFactor});
  std::erase_if(spikes, [&](const Spike& spike) {
    const auto first = std::ranges::lower_bound(surges, spike.begin);
    return first == surges.end() || *first >= spike.begin + spike.length;
  });
  return spikes;
}

std::string status_text(const store::Scalar& scalar) {
  for (const auto* key : {kSeedsNote, attribute::kStatus}) {
    const auto text = scalar.attributes.find(key);
    if (text != scalar.attributes.end()) return text->second;
  }
  // In words of the page: "biased" would be taken for the arm that has a bias.
  if (scalar.status == store::Status::kBiased) return "the error of sampling dominates";
  if (scalar.status == store::Status::kNotResolvable) return "too few rows";
  return std::string(scalar.status.text());
}

std::vector<std::string> layers_of(const Arm& arm, const std::string& prefix) {
  return layers_of(std::span(&arm, 1), prefix);
}

std::vector<std::string> measured_layers(std::span<const Arm> arms) {
  std::set<std::string> layers;
  for (const auto* prefix : {&id::kKappas, &id::kLearning})
    for (auto& layer : layers_of(arms, *prefix)) layers.insert(std::move(layer));
  std::vector<std::string> sorted(layers.begin(), layers.end());
  std::sort(sorted.begin(), sorted.end(), natural_less);
  return sorted;
}

std::vector<std::string> layers_of(std::span<const Arm> arms, const std::string& prefix) {
  std::set<std::string> layers;
  for (const Arm& arm : arms) {
    for (const auto& [key, points] : arm.scalars) {
      if (key.name.starts_with(prefix) && !points.empty()) layers.insert(key.layer);
    }
  }
  std::vector<std::string> sorted(layers.begin(), layers.end());
  std::sort(sorted.begin(), sorted.end(), natural_less);
  return sorted;
}

}  // namespace kappascope::reports
