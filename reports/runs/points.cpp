// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/points.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kappascope::reports {
namespace {

bool agree(const store::Scalar& a, const store::Scalar& b) {
  return a.lower == b.lower && a.upper == b.upper && a.n == b.n && a.n_effective == b.n_effective &&
         a.status == b.status && a.name == b.name && a.layer == b.layer &&
         a.attributes == b.attributes;
}

}  // namespace

Points::Points(std::initializer_list<store::StepValue> points) {
  for (const auto& point : points) push_back(point);
}

void Points::push_back(store::StepValue point) {
  steps_.push_back(point.step);
  values_.push_back(point.scalar.value);
  if (rests_.empty() || !agree(rests_.back().scalar, point.scalar))
    rests_.push_back({steps_.size() - 1, std::move(point.scalar)});
}

void Points::pop_back() {
  steps_.pop_back();
  values_.pop_back();
  if (rests_.back().first == steps_.size()) rests_.pop_back();
}

store::StepValue Points::operator[](std::size_t place) const {
  const auto behind = std::ranges::upper_bound(rests_, place, {}, &Rest::first);
  store::StepValue point{steps_.at(place), std::prev(behind)->scalar};
  point.scalar.value = values_[place];
  return point;
}

std::optional<store::StepValue> Points::last_number() const {
  for (std::size_t place = size(); place-- > 0;)
    if (!std::isnan(values_[place])) return (*this)[place];
  return std::nullopt;
}

std::optional<store::StepValue> Points::number_at(std::int64_t step) const {
  const auto found = std::ranges::lower_bound(steps_, step);
  if (found == steps_.end() || *found != step) return std::nullopt;
  const auto place = static_cast<std::size_t>(found - steps_.begin());
  if (std::isnan(values_[place])) return std::nullopt;
  return (*this)[place];
}

}  // namespace kappascope::reports
