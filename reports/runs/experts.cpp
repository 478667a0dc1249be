// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/experts.h"

#include <algorithm>
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

ExpertLoad load_of(std::int64_t step,
                   const std::vector<std::pair<std::string, double>>& rows,
                   std::size_t experts) {
  ExpertLoad out{.step = step};
  double most = 0, least = rows.size() < experts ? 0 : rows.front().second;
  for (const auto& [expert, count] : rows) {
    out.rows += count;
    least = std::min(least, count);
    if (count <= most) continue;
    most = count;
    out.busiest_expert = expert;
  }
  const double even = out.rows / static_cast<double>(experts);
  out.busiest = most / even;
  out.idlest = least / even;
  out.unused = experts - rows.size();
  return out;
}

}  // namespace

std::vector<ExpertBank> expert_banks(const Arm& arm) {
  std::map<std::string, std::vector<std::string>> banks;
  for (const auto& layer : layers_of(arm, id::kKappaSigma)) {
    if (auto bank = bank_of(layer); !bank.empty()) banks[std::move(bank)].push_back(layer);
  }
  std::vector<ExpertBank> out;
  for (auto& [name, experts] : banks) {
    if (experts.size() < 2) continue;
    std::map<std::int64_t, std::vector<std::pair<std::string, double>>> by_step;
    for (const auto& expert : experts) {
      for (const auto& [step, scalar] : arm.series(id::kKappaSigma, expert))
        if (scalar.n.value_or(0) > 0) by_step[step].emplace_back(expert, *scalar.n);
    }
    ExpertBank bank{.name = name, .experts = std::move(experts), .loads = {}};
    for (const auto& [step, rows] : by_step)
      bank.loads.push_back(load_of(step, rows, bank.experts.size()));
    if (!bank.loads.empty()) out.push_back(std::move(bank));
  }
  std::ranges::sort(out, natural_less, &ExpertBank::name);
  return out;
}

}  // namespace kappascope::reports
