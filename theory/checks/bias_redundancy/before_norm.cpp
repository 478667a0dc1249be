// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/before_norm.h"

#include <fmt/format.h>

#include <utility>

#include "core/names.h"
#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

Vector<Rational> shifted(const Vector<Rational>& z, const Rational& by) {
  return z + Vector<Rational>::ones(z.size()) * by;
}

/// "(1, -1)/√(5/4)".
std::string text(const Normalised<Rational>& normalised) {
  const auto numerator = theory::text(normalised.numerator);
  return normalised.square == 1 ? numerator : numerator + "/√(" + normalised.square.text() + ")";
}

double largest(const Normalised<Rational>& normalised) {
  if (normalised.square == 0) return 0;
  const Normalised<double> rounded{to_double(normalised.numerator).col(0),
                                   normalised.square.to_double()};
  const Vector<double> values = rounded.value();
  return *std::max_element(
      values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
}

Witness witness(const std::string& where,
                const Normalised<Rational>& with,
                const Normalised<Rational>& without) {
  return {fmt::format("{}: {} becomes {}", where, text(with), text(without)),
          largest(with),
          largest(without)};
}

struct Statistics {
  Rational mean = 0, variance = 1;
};

Statistics recorded(const BatchCase& one, const Rational& bias) {
  Statistics running;
  for (std::size_t i = 0; i < one.batches.size(); ++i) {
    const auto centred = layer_norm<Rational>(shifted(one.batches[i], bias), 0);
    const Rational mean = (one.batches[i].sum() / one.batches[i].size()) + bias;
    running.mean += one.momenta[i] * (mean - running.mean);
    running.variance += one.momenta[i] * (centred.square - running.variance);
  }
  return running;
}

Normalised<Rational> evaluated(const BatchCase& one,
                               const Rational& bias,
                               const Statistics& statistics) {
  return {shifted(one.batches.back(), bias - statistics.mean), statistics.variance + one.epsilon};
}

/// The last batch with b and without it.
std::pair<Normalised<Rational>, Normalised<Rational>> outputs(const BatchCase& one,
                                                              BatchMode mode) {
  const auto& last = one.batches.back();
  if (mode == BatchMode::kTraining) {
    return {layer_norm<Rational>(shifted(last, one.bias), one.epsilon),
            layer_norm(last, one.epsilon)};
  }
  const auto with = recorded(one, one.bias);
  auto without = with;
  if (mode == BatchMode::kMeanMoved) without.mean -= one.bias;
  if (mode == BatchMode::kTrainedWithout) without = recorded(one, 0);
  return {evaluated(one, one.bias, with), evaluated(one, 0, without)};
}

const char* to_string(BatchMode mode) {
  return name_in<BatchMode::kTrainedWithout>(
      std::array{"training",
                 "evaluation, b dropped and the running mean kept",
                 "evaluation, b dropped and the running mean lowered by b",
                 "evaluation, trained without b"},
      mode);
}

/// ε = 1/2 makes the roots of the first case whole; then fixed, full and averaging momenta, one
/// sample a batch, no spread, b = 0.
std::vector<BatchCase> batch_cases(std::uint64_t seed) {
  const Vector<Rational> zero = Vector<Rational>::zero(1);
  std::vector<BatchCase> cases{{{zero}, {{1, 2}}, 1, {1, 2}}, {{zero}, {1}, 1, 1}};
  Random random(seed);
  for (int i = 0; i < 1200; ++i) {
    BatchCase one;
    one.bias = i % 5 == 0 ? 0 : random.integer(-3, 3);
    one.epsilon = Rational(random.integer(1, 4)) / 4;
    const auto samples = random.integer(1, 4);
    const auto momentum = random.pick<Rational>({{1, 10}, {1, 2}, 1});
    const auto steps = random.integer(1, 3);
    for (std::int64_t k = 1; k <= steps; ++k) {
      one.batches.push_back(draw_vector(samples, 3, random));
      one.momenta.push_back(i % 3 == 0 ? Rational(1) / k : momentum);
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

bool multiple_of_one(const Vector<Rational>& values) {
  return layer_norm<Rational>(values, 0).square == 0;
}

std::vector<TokenCase> token_cases(std::uint64_t seed) {
  std::vector<TokenCase> cases;
  const auto add = [&](const Vector<Rational>& bias, const Rational& epsilon) {
    for (const auto norm : {Norm::kLayer, Norm::kRms}) {
      const Vector<Rational> mirror = bias / Rational(-2), zero = mirror * Rational(0);
      cases.push_back({norm, bias, epsilon, {zero, mirror}});
    }
  };
  for (const Index d : {1, 2, 3}) {
    add(Vector<Rational>::zero(d), 1);
    add(Vector<Rational>::ones(d), 1);
    add(Vector<Rational>::unit(d, 0), 1);
  }
  Random random(seed);
  for (int i = 0; i < 1200; ++i) {
    const auto d = random.integer(1, 5);
    auto bias = draw_vector(d, 2, random);
    if (i % 4 == 0) bias = Vector<Rational>::ones(d) * random.integer(-3, 3);
    if (i % 16 == 1) bias.set_zero();
    add(bias, i % 6 == 2 ? Rational(0) : Rational(random.integer(1, 4)) / 4);
    for (auto* one : {&cases.back(), &cases[cases.size() - 2]}) {
      one->inputs.push_back(draw_vector(d, 3, random));
      one->inputs.push_back(draw_vector(d, 30, random));
      one->inputs.push_back(Vector<Rational>::ones(d) * random.integer(-3, 3));
    }
  }
  return cases;
}

}  // namespace

std::string BatchCase::text() const {
  std::string out;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    out +=
        fmt::format("{}batch {} at momentum {}", i == 0 ? "" : ", then ", batches[i], momenta[i]);
  }
  return fmt::format("{}, b = {}, ε = {}", out, bias, epsilon);
}

std::optional<bool> batch_norm_forgets(const BatchCase& one, BatchMode mode) {
  Rational left = 1;
  for (const auto& momentum : one.momenta) left *= 1 - momentum;
  switch (mode) {
    case BatchMode::kTraining:
    case BatchMode::kMeanMoved:
      return true;
    case BatchMode::kMeanKept:
      return one.bias == 0;
    case BatchMode::kTrainedWithout:
      return one.bias * left == 0;
  }
  return std::nullopt;
}

Verdict check_before_batch_norm(const BatchStatement& same_outputs, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : batch_cases(seed)) {
    for (const auto mode : {BatchMode::kTraining,
                            BatchMode::kMeanMoved,
                            BatchMode::kMeanKept,
                            BatchMode::kTrainedWithout}) {
      const auto stated = same_outputs(one, mode);
      if (!stated) continue;
      const auto both = outputs(one, mode);
      const auto& with = both.first;
      const auto& without = both.second;
      const bool is_same = same(with, without);
      tally.sizes({{"batches", std::ssize(one.batches)}, {"rows", one.batches.back().size()}});
      tally.record(is_same == *stated, [&] {
        return witness(fmt::format("{}; {}", one, to_string(mode)), with, without);
      });
    }
  }
  return tally.verdict("normalised with the bias", "without it", "exact");
}

std::string TokenCase::text() const {
  return fmt::format("{}, b = {}, ε = {}", to_string(norm), bias, epsilon);
}

std::optional<bool> norm_forgets(const TokenCase& one) {
  return one.norm == Norm::kLayer ? multiple_of_one(one.bias) : one.bias.dot(one.bias) == 0;
}

Verdict check_before_norm(const TokenStatement& same_outputs, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : token_cases(seed)) {
    const auto stated = same_outputs(one);
    if (!stated) continue;
    bool all_same = true;
    Vector<Rational> shown = one.inputs.back();
    for (const auto& z : one.inputs) {
      const auto with = normalise(one.norm, z + one.bias, one.epsilon);
      const auto without = normalise(one.norm, z, one.epsilon);
      if (with.square == 0 || without.square == 0 || same(with, without)) continue;
      all_same = false;
      shown = z;
      break;
    }
    tally.sizes({{"features", one.bias.size()}});
    tally.record(all_same == *stated, [&] {
      return witness(fmt::format("{}, z = {}", one, shown),
                     normalise(one.norm, shown + one.bias, one.epsilon),
                     normalise(one.norm, shown, one.epsilon));
    });
  }
  return tally.verdict("normalised with the bias", "without it", "exact");
}

Verdict check_no_other_parameters(const TokenStatement& replaceable, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : token_cases(seed)) {
    const auto stated = replaceable(one);
    if (!stated || one.epsilon == 0) continue;
    const auto at_twice = normalise(one.norm, one.bias * Rational(2), one.epsilon);
    auto twice = normalise(one.norm, one.bias, one.epsilon);
    twice.numerator *= Rational(2);
    tally.sizes({{"features", one.bias.size()}});
    tally.record(same(at_twice, twice) == *stated, [&] {
      return Witness{
          fmt::format(
              "{}: norm(2b) + norm(0) = {} and 2 norm(b) = {}", one, text(at_twice), text(twice)),
          largest(at_twice),
          largest(twice)};
    });
  }
  return tally.verdict("norm(2b) + norm(0)", "2 norm(b)", "exact");
}

}  // namespace kappascope::theory
