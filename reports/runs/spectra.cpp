// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/spectra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace kappascope::reports {
namespace {

struct Kind {
  const char* name;
  const char* title;
};
constexpr std::array<Kind, 5> kKinds = {{{"hessian", "Hessian"},
                                         {"preconditioned", "preconditioned Hessian"},
                                         {"ggn", "Gauss-Newton matrix"},
                                         {"fisher", "empirical Fisher matrix"},
                                         {"covariance", "gradient covariance"}}};

std::size_t order_of(const std::string& kind) {
  const auto at = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const Kind& known) { return kind == known.name; });
  return static_cast<std::size_t>(at - kKinds.begin());
}

double number(const Arm& arm, const std::string& name) {
  const auto point = arm.newest(name);
  return !point || std::isnan(point->scalar.value) ? 0 : point->scalar.value;
}

bool was_asked(const Arm& arm, const std::string& name) {
  const auto point = arm.newest(name);
  return point && !(point->scalar.status == store::Status::kNotAsked);
}

/// A count that was stored as a number; 0 where it cannot be one.
std::int64_t count_of(double value) {
  constexpr double kWhole = 0x1p53;  // doubles count as far
  return value >= 0 && value <= kWhole ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace

std::string StoredSpectrum::title() const {
  const std::size_t at = order_of(kind);
  return (at < kKinds.size() ? kKinds[at].title : kind) + (block == "*" ? "" : " of " + block);
}

std::string StoredSpectrum::key(store::SpectrumPart quantity) const {
  return store::spectrum_series(kind, block, quantity);
}

std::size_t StoredSpectrum::from_largest() const {
  if (!has_largest) return 0;
  return has_smallest ? std::min(top, values.size()) : values.size();
}

bool StoredSpectrum::same_ranks(const std::vector<std::vector<double>>& batches,
                                const std::optional<store::StepValue>& from_above) const {
  return !batches.empty() && batches[0].size() == values.size() && from_above &&
         from_above->scalar.value == static_cast<double>(from_largest());
}

std::string StoredSpectrum::rank(std::size_t i) const {
  return i < from_largest() ? "λ" + std::to_string(i + 1)
                            : "λmin" + std::to_string(values.size() - i);
}

bool StoredSpectrum::resolved(std::size_t i) const {
  if (status == store::Status::kInconsistent || std::abs(values[i]) <= bounds[i]) return false;
  if (!certified.empty() && certified[i] == 0) return false;
  const double largest = std::max(std::abs(values.front()), std::abs(values.back()));
  return status == store::Status::kConverged || residuals[i] <= tolerance * largest;
}

std::string_view StoredSpectrum::worth(std::size_t i) const {
  const bool uncertified = !certified.empty() && certified[i] == 0;
  return uncertified && status == store::Status::kConverged
             ? store::Status(store::Status::kUncertified).text()
             : status.text();
}

bool StoredSpectrum::bounds_the_step() const {
  const bool known = own_limit > 0 || kind == "hessian" || kind == "ggn";
  return known && has_largest && !values.empty() && rate > 0;
}

std::string StoredSpectrum::limit_in_words() const {
  return own_limit > 0 ? "the optimiser's limit" : "2 / learning rate";
}

std::vector<StoredSpectrum> stored_spectra(const std::vector<Arm>& arms) {
  std::vector<StoredSpectrum> found;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    for (const auto& [key, arrays] : arms[a].arrays) {
      const auto name = store::parse_spectrum(key.name);
      if (!name || name->part != part::kEigenvalues.name()) continue;
      const auto table = newest_table(arms[a], key.name, 3);
      if (table.empty()) continue;
      StoredSpectrum one{
          .arm = a, .kind = name->operator_kind, .block = name->block, .step = arrays.back().first};
      one.values = table[0];
      one.residuals = table[1];
      one.bounds = table[2];
      const auto reach = newest_table(arms[a], one.key(part::kReach), 2);
      if (!reach.empty() && reach[0].size() == one.values.size()) {
        for (std::size_t i = 0; i < one.values.size(); ++i)
          one.certified.push_back(reach[0][i] <= reach[1][i] ? 1 : 0);
      }
      const auto status = arms[a].newest(one.key(part::kStatus));
      one.status = !status ? store::Status::kNotRecorded : status->scalar.status;
      one.checkpoint = count_of(number(arms[a], one.key(part::kCheckpoint)));
      one.top = static_cast<std::size_t>(count_of(number(arms[a], one.key(part::kTop))));
      one.has_largest = was_asked(arms[a], one.key(part::kLambda));
      one.has_smallest = was_asked(arms[a], one.key(part::kLambdaMin));
      one.tolerance = number(arms[a], one.key(part::kTolerance));
      one.rows = number(arms[a], one.key(part::kRows));
      one.parameters = number(arms[a], one.key(part::kParameters));
      one.rate = number(arms[a], one.key(part::kLearningRate));
      one.own_limit = number(arms[a], one.key(part::kStabilityLimit));
      found.push_back(std::move(one));
    }
  }
  const auto place = [](const StoredSpectrum& s) {
    return std::tuple(order_of(s.kind), s.kind, s.block != "*", s.block, s.arm);
  };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return place(a) < place(b);
  });
  return found;
}

std::vector<std::vector<double>> newest_table(const Arm& arm,
                                              const std::string& name,
                                              std::size_t rows,
                                              const std::string& layer) {
  const auto found = arm.arrays.find({name, layer});
  if (found == arm.arrays.end() || found->second.empty()) return {};
  const store::Array& array = found->second.back().second;
  if (array.shape.size() != 2 || array.shape[0] != static_cast<std::int64_t>(rows)) return {};
  const auto length = static_cast<std::ptrdiff_t>(array.shape[1]);
  std::vector<std::vector<double>> table;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto begin = array.data.begin() + static_cast<std::ptrdiff_t>(r) * length;
    table.emplace_back(begin, begin + length);
  }
  return table;
}

double largest_rate(const Arm& arm) {
  double largest = 0;
  for (const auto& [step, scalar] : arm.series(id::kLearningRate))
    largest = std::max(largest, scalar.value);
  return largest;
}

}  // namespace kappascope::reports
