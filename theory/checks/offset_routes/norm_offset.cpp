// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/norm_offset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 2500;

/// √n = f√s with a square-free s.
FormalSum root(std::int64_t n) {
  std::int64_t factor = 1;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    while (n % (p * p) == 0) {
      n /= p * p;
      factor *= p;
    }
  }
  return n == 1 ? FormalSum(Rational(factor)) : Rational(factor) * FormalSum::symbol(n);
}

Halves plus(const Halves& a, const Halves& b, std::int64_t times = 1) {
  Halves sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += times * b[i];
  return sum;
}

std::string text_of(const Halves& x) {
  std::string out;
  for (const auto entry : x) {
    out += (out.empty() ? "" : ", ") + Rational(entry, std::int64_t{2}).text();
  }
  return x.size() == 1 ? out : "(" + out + ")";
}

std::string text_of(const std::vector<FormalSum>& values) {
  std::string out;
  for (const auto& value : values) out += (out.empty() ? "" : ", ") + value.text("√");
  return values.size() == 1 ? out : "(" + out + ")";
}

std::vector<Halves> probes(const NormOffset& one) {
  auto points = one.inputs;
  const Halves origin(one.offset.size(), 0);
  // Between -c and 0 a sign may turn; c itself is even in halves.
  Halves between = one.offset;
  for (auto& entry : between) entry /= -2;
  points.push_back(between);
  for (const int times : {1, 2, -3}) points.push_back(plus(origin, one.offset, times));
  for (std::size_t i = 0; i < one.offset.size(); ++i) {
    for (const int sign : {1, -1}) {
      auto axis = origin;
      axis[i] = sign;
      points.push_back(axis);
      axis[(i + 1) % axis.size()] += std::int64_t{6} * sign;
      points.push_back(axis);
    }
  }
  return points;
}

struct Change {
  Halves x;
  std::vector<FormalSum> value;  ///< N(x + c) - N(x)
};

std::vector<Change> changes(const NormOffset& one) {
  std::vector<Change> all;
  for (const auto& x : probes(one)) {
    const auto before = normalise(one.kind, one.quarters, x);
    auto after = normalise(one.kind, one.quarters, plus(x, one.offset));
    if (before.empty() || after.empty()) continue;
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
    all.push_back({x, std::move(after)});
  }
  return all;
}

bool is_zero(const std::vector<FormalSum>& values) {
  return std::all_of(
      values.begin(), values.end(), [](const auto& value) { return value == FormalSum(); });
}

bool is_zero(const Halves& x) {
  return std::all_of(x.begin(), x.end(), [](auto entry) { return entry == 0; });
}

std::vector<NormOffset> norm_offsets(std::uint64_t seed) {
  std::vector<NormOffset> cases{{NormKind::kRmsNorm, 0, {0, 0}},
                                {NormKind::kRmsNorm, 0, {12, 0}, {{2, 2}, {-14, 2}}},
                                {NormKind::kLayerNorm, 0, {2, 0}, {{2, 0}, {-2, 0}}},
                                {NormKind::kLayerNorm, 0, {2, 2}, {{2, 0}, {-2, 0}}},
                                {NormKind::kLayerNorm, 4, {2}},
                                {NormKind::kRmsNorm, 0, {4}, {{2}, {-2}}}};
  Random random(seed);
  while (cases.size() < kDraws) {
    const auto d = static_cast<std::size_t>(random.integer(1, 4));
    NormOffset one{random.integer(0, 1) == 0 ? NormKind::kRmsNorm : NormKind::kLayerNorm,
                   random.pick<std::int64_t>({0, 1, 4}),
                   Halves(d)};
    // The layer norm of a single number is 0/0 without ε.
    if (one.kind == NormKind::kLayerNorm && d == 1) one.quarters = 1;
    const auto kind = random.integer(0, 5);
    for (auto& entry : one.offset) entry = kind == 0 ? 0 : 2 * random.integer(-3, 3);
    if (kind == 1) std::fill(one.offset.begin(), one.offset.end(), 2 * random.nonzero(-3, 3));
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace

const char* to_string(NormKind kind) {
  return kind == NormKind::kRmsNorm ? "RMSNorm" : "LayerNorm";
}

std::vector<FormalSum> normalise(NormKind kind, std::int64_t quarters, const Halves& x) {
  // With x = n/2 and m = n, or m = dn - Σn for the centred x = m/(2d), N(x) is m√d/√A with
  // A = Σm² + 4εd, or Σm² + 4εd³.
  const auto d = static_cast<std::int64_t>(x.size());
  Halves m = x;
  std::int64_t total = quarters * d;
  if (kind == NormKind::kLayerNorm) {
    const auto sum = std::accumulate(x.begin(), x.end(), std::int64_t{0});
    for (auto& entry : m) entry = d * entry - sum;
    total *= d * d;
  }
  for (const auto entry : m) total += entry * entry;
  if (total == 0) return {};
  const FormalSum scale = Rational(std::int64_t{1}, total) * root(d * total);
  std::vector<FormalSum> values;
  for (const auto entry : m) values.push_back(Rational(entry) * scale);
  return values;
}

std::string NormOffset::text() const {
  return fmt::format("{} with ε = {}, c = {}",
                     to_string(kind),
                     Rational(quarters, std::int64_t{4}),
                     text_of(offset));
}

Fate carried(const NormOffset& /*one*/) {
  return Fate::kCarried;
}

Fate fate(const NormOffset& one) {
  if (is_zero(one.offset)) return Fate::kCarried;
  const bool constant = std::set<std::int64_t>(one.offset.begin(), one.offset.end()).size() == 1;
  return one.kind == NormKind::kLayerNorm && constant ? Fate::kRemoved : Fate::kMixed;
}

Verdict check_norm_offset(const OffsetFate& states, std::uint64_t seed) {
  Tally tally;
  std::set<Fate> seen;
  for (const auto& one : norm_offsets(seed)) {
    const auto all = changes(one);
    const auto& first = all.front();
    const auto other = std::find_if(
        all.begin(), all.end(), [&](const auto& change) { return change.value != first.value; });
    auto actual = Fate::kCarried;
    if (is_zero(first.value) && !is_zero(one.offset)) actual = Fate::kRemoved;
    if (other != all.end()) actual = Fate::kMixed;
    seen.insert(actual);
    tally.sizes({{"d", one.offset.size()}});
    tally.record(actual == states(one), [&] {
      const auto& second = other == all.end() ? all.back() : *other;
      const auto root_of = [](double k) { return std::sqrt(k); };
      return Witness{fmt::format("{}: N(x + c) - N(x) is {} at x = {} and {} at x = {}",
                                 one,
                                 text_of(first.value),
                                 text_of(first.x),
                                 text_of(second.value),
                                 text_of(second.x)),
                     first.value.back().to_double(root_of),
                     second.value.back().to_double(root_of)};
    });
  }
  auto verdict = tally.verdict("last entry of N(x + c) - N(x) at one x", "at another x", "exact");
  if (verdict.outcome == Outcome::kHolds && seen.size() < 3) verdict.outcome = Outcome::kUndecided;
  return verdict;
}

Verdict check_own_constant(const AddsConstant& says) {
  Tally tally;
  const Rational gain = 2, bias = 3;
  for (const auto kind : {NormKind::kLayerNorm, NormKind::kRmsNorm}) {
    const auto output = [&](const Halves& x) {
      const auto value = gain * normalise(kind, 0, x).front();
      return kind == NormKind::kLayerNorm ? value + FormalSum(bias) : value;
    };
    const auto there = output({2, 14}), back = output({-2, -14});
    const bool adds = !(there + back == FormalSum());
    tally.record(adds == says(kind), [&] {
      return Witness{fmt::format("{}, first gain 2{}: {} at x = (1, 7) and {} at x = (-1, -7)",
                                 to_string(kind),
                                 kind == NormKind::kLayerNorm ? " and bias 3" : "",
                                 there.text("√"),
                                 back.text("√")),
                     (there + back).to_double([](double k) { return std::sqrt(k); }),
                     says(kind) ? 1.0 : 0.0};
    });
  }
  return tally.verdict("N(x) + N(-x), first entry", "not zero (1), as stated", "exact");
}

}  // namespace kappascope::theory
