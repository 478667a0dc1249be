// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/costs/printed_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kWarmup = 4000;

/// The length of the product, or nothing where the sizes do not fit.
std::optional<int> product(Operand operand, int rows, int columns, std::optional<int> length) {
  if (!length) return std::nullopt;
  const int inner = operand == Operand::kRows ? rows : columns;
  if (*length != inner) return std::nullopt;
  return operand == Operand::kRows ? columns : rows;
}

/// W_d(G(W_g x) ⊙ SiLU(W_s W_u x) ⊙ V_s W_u x) of a token of d entries.
bool composes(Operand operand, int d, int f) {
  const auto gate = product(operand, d, f, d), up = product(operand, d, f, d);
  const auto spatial = product(operand, f, f, up);
  if (!gate || !spatial || *gate != *spatial) return false;
  return product(operand, f, d, gate) == d;
}

}  // namespace

bool rows_compose(Operand operand, int d, int f) {
  return operand == Operand::kRows || d == f;
}

Verdict check_composes(const Composes& says, const std::vector<Operand>& operands) {
  constexpr int kLargest = 12;
  Tally tally;
  for (const auto operand : operands) {
    for (int d = 1; d <= kLargest; ++d) {
      for (int f = 1; f <= kLargest; ++f) {
        const bool fits = composes(operand, d, f), stated = says(operand, d, f);
        tally.sizes({{"d", d}, {"f", f}});
        tally.record(fits == stated, [&] {
          return Witness{fmt::format("d = {}, f = {}, x a {}: {}",
                                     d,
                                     f,
                                     operand == Operand::kRows ? "row" : "column",
                                     fits ? "all products are defined"
                                          : fmt::format("W_g is [{}, {}], and W_g x needs x of {} "
                                                        "entries, not {}",
                                                        d,
                                                        f,
                                                        f,
                                                        d)),
                         fits ? 1.0 : 0.0,
                         stated ? 1.0 : 0.0};
        });
      }
    }
  }
  return tally.verdict("equation 3 is defined (1) or not (0)", "as stated", "exact");
}

Verdict check_perplexity(const std::vector<Perplexity>& says) {
  Tally tally;
  for (const auto& one : says) {
    const Enclosure loss = as_printed(one.loss);
    const Enclosure found(exp_enclosure(loss.lower).lower, exp_enclosure(loss.upper).upper);
    const bool inside = one.value.lower <= found.lower && found.upper <= one.value.upper;
    tally.record(inside, [&] {
      return Witness{fmt::format("a loss printed as {} is a perplexity in {}, as stated {}",
                                 one.loss,
                                 found,
                                 one.value),
                     found.middle(),
                     one.value.middle()};
    });
  }
  return tally.verdict("e^loss", "as stated", "exact, by rational bounds");
}

Rational derived_highest_rate(int steps, int warmup) {
  return std::min(Rational(steps, warmup), Rational(1));
}

Verdict check_highest_rate(const HighestRate& says, const std::vector<int>& steps) {
  Tally tally;
  for (const int count : steps) {
    Rational highest = 0;
    // After the warm-up the rate only falls.
    for (int step = 1; step <= std::min(count, kWarmup); ++step) {
      highest = std::max(highest, Rational(step, kWarmup));
    }
    tally.sizes({{"steps", count}});
    tally.compare(highest, says(count, kWarmup), [&] {
      return fmt::format("{} steps with a warm-up of {}: the rate reaches {} of its peak",
                         count,
                         kWarmup,
                         highest);
    });
  }
  return tally.verdict("highest rate over the peak", "as stated", "exact");
}

}  // namespace kappascope::theory
