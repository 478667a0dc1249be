// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/experts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace kappascope::reports {
namespace {

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

/// The layer's name with * for the last number behind a word that names experts; empty: none.
std::string bank_of(const std::string& layer) {
  std::string out;
  std::size_t number = std::string::npos, length = 0;
  bool of_experts = false;
  for (std::size_t begin = 0; begin <= layer.size();) {
    const auto end = std::min(layer.find('.', begin), layer.size());
    const auto word = layer.substr(begin, end - begin);
    of_experts = of_experts || word.find("expert") != std::string::npos ||
                 word.find("moe") != std::string::npos;
    if (of_experts && is_number(word)) {
      number = begin;
      length = word.size();
    }
    begin = end + 1;
  }
  if (number == std::string::npos) return {};
  auto name = layer;
  return name.replace(number, length, "*");
}

using Rows = std::map<std::string, double>;  // by expert

ExpertLoad load_of(std::int64_t step, const Rows& rows) {
  ExpertLoad out{.step = step};
  const auto& [least, most] =
      std::ranges::minmax_element(rows, {}, [](const auto& row) { return row.second; });
  for (const auto& [expert, count] : rows) out.rows += count;
  const double even = out.rows / static_cast<double>(rows.size());
  out.busiest_expert = most->first;
  out.busiest = most->second / even;
  out.idlest = least->second / even;
  double entropy = 0;
  for (const auto& [expert, count] : rows) {
    if (count > 0) entropy -= count / out.rows * std::log(count / out.rows);
    out.unused += count > 0 ? 0 : 1;
  }
  out.in_use = std::exp(entropy) / static_cast<double>(rows.size());
  return out;
}

/// Rows of each expert in each window: 0 where one saw none.
std::map<std::int64_t, Rows> rows_of(const Arm& arm, const std::vector<std::string>& experts) {
  std::map<std::int64_t, Rows> by_step;
  for (const auto& expert : experts) {
    for (const auto& [step, scalar] : arm.series(id::kLayerRows, expert))
      by_step[step][expert] = scalar.n.value_or(scalar.value);
  }
  const bool in_turn = std::ranges::any_of(
      arm.events, [](const auto& event) { return event.event.kind == "layers_in_turn"; });
  if (!by_step.empty() || in_turn) return by_step;
  for (const auto& expert : experts) {
    for (const auto& [step, scalar] : arm.series(id::kKappaSigma, expert))
      if (scalar.n.value_or(0) > 0) by_step[step][expert] = *scalar.n;
  }
  for (auto& [step, rows] : by_step)
    for (const auto& expert : experts) rows.try_emplace(expert, 0);
  return by_step;
}

}  // namespace

std::vector<ExpertBank> expert_banks(const Arm& arm) {
  std::map<std::string, std::vector<std::string>> banks;
  for (const auto& layer :
       layers_of(arm, arm.has(id::kLayerRows) ? id::kLayerRows : id::kKappaSigma)) {
    if (auto bank = bank_of(layer); !bank.empty()) banks[std::move(bank)].push_back(layer);
  }
  std::vector<ExpertBank> out;
  for (auto& [name, experts] : banks) {
    if (experts.size() < 2) continue;
    ExpertBank bank{.name = name, .experts = experts, .loads = {}};
    for (const auto& [step, rows] : rows_of(arm, experts))
      if (std::ranges::any_of(rows, [](const auto& row) { return row.second > 0; }))
        bank.loads.push_back(load_of(step, rows));
    if (!bank.loads.empty()) out.push_back(std::move(bank));
  }
  std::ranges::sort(out, natural_less, &ExpertBank::name);
  return out;
}

}  // namespace kappascope::reports
