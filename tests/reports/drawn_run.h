// SPDX-License-Identifier: Apache-2.0
// Runs whose numbers are drawn: layers, formats, what is resolved and what is there.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reports/sample_run.h"

namespace kappascope::reports {

/// Where the numbers of a drawn run come from.
struct Random {
  std::mt19937 random;

  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  /// Over decades, so that all formats occur.
  double positive(double low, double high) {
    return std::exp(between(std::log(low), std::log(high)));
  }
  bool one_in(int n) { return std::uniform_int_distribution<int>(1, n)(random) == 1; }
};

inline store::Scalar drawn(Random& draw,
                           const std::string& name,
                           const std::string& layer,
                           double value) {
  auto out = sample::scalar(name, layer, value, draw.between(0.001, 0.3));
  if (store::id::kKappas.contains(name))
    out.status = draw.one_in(6) ? store::Status::kNotResolvable : store::Status::kResolved;
  if (draw.one_in(12)) out.value = std::nan("");
  return out;
}

inline void add_layer(Random& draw, store::Snapshot& out, const std::string& layer, bool bias) {
  const auto add = [&](const char* name, double value) {
    out.scalars.push_back(drawn(draw, name, layer, value));
  };
  const double sigma = draw.positive(1, 1e6), second = sigma * draw.positive(0.9, 50);
  const double with = sigma * draw.positive(0.9, 50);
  add("kappa/sigma", sigma);
  add("kappa/second_moment", second);
  const auto paired = [&](const char* name, double value) {
    out.scalars.push_back(sample::scalar(name, layer, value, 0.03));
  };
  if (!draw.one_in(3)) paired("kappa/mean_costs", second / sigma);
  if (bias) {
    add("kappa/with_bias", with);
    if (!draw.one_in(3)) paired("kappa/bias_leaves", with / sigma);
    // A mean of about zero in some: then b is far longer, and how far is anybody's guess.
    const double rest = draw.one_in(4) ? draw.positive(1e3, 1e18) : draw.between(0.01, 1.5);
    out.scalars.push_back(sample::scalar("bias/residual", layer, rest, draw.between(0.01, 2)));
    out.scalars.push_back(sample::plain("bias/norm", layer, draw.positive(1e-3, 10)));
  }
  const double zero = draw.positive(1e-9, 1e3);
  add("gradvar/b_zero", zero);
  if (bias) add("gradvar/b_learned", zero * draw.between(0.2, 3));
  add("gradvar/b_minus_mean", zero * draw.between(0.2, 3));
  add("gradvar/b_minimiser", zero * draw.between(0.1, 1));
}

/// Learning times of a layer. One in `unresolved` is not resolved, half of these a lower bound.
inline void add_learning(Random& draw,
                         store::Snapshot& out,
                         const std::string& layer,
                         bool bias,
                         double slowest,
                         int unresolved) {
  const double without = draw.positive(1, slowest);
  const auto steps = [&](const char* name, double value) {
    auto scalar = sample::scalar(name, layer, value, draw.between(0.01, 0.5));
    if (draw.one_in(unresolved)) scalar.status = store::Status::kNotResolvable;
    if (!is_resolved(scalar) && draw.one_in(2)) scalar.upper.reset();
    if (draw.one_in(12)) scalar.value = std::nan(""), scalar.status = store::Status::kNotResolvable;
    out.scalars.push_back(scalar);
  };
  const auto ratio = [&](const char* name, double value) {
    out.scalars.push_back(sample::scalar(name, layer, value, draw.between(0.01, 0.3)));
    if (draw.one_in(8)) out.scalars.back().value = std::nan("");
  };
  const double costs = draw.positive(0.5, 50), leaves = draw.positive(0.5, 50);
  steps("learning/sigma", without);
  steps("learning/second_moment", without * costs);
  ratio("learning/mean_costs", costs);
  if (!bias) return;
  steps("learning/with_bias", without * leaves);
  ratio("learning/bias_leaves", leaves);
  ratio("learning/bias_changes", leaves / costs);
}

/// A run with every series that cards, findings, tables and advice state.
inline std::filesystem::path write_drawn(Random& draw,
                                         const std::filesystem::path& dir,
                                         bool bias) {
  const bool sgd = draw.one_in(2);
  store::Facts facts = {{"label", dir.filename().string()},
                        {"created", "2026-01-31T12:00:00Z"},
                        {"optimizer", sgd ? "sgd" : "adam"}};
  if (!draw.one_in(3)) facts.emplace_back("config", "[train]\nschedule = cosine\n");
  auto run = store::RunWriter::create(dir, facts);
  const auto layers = std::uniform_int_distribution<int>(1, 6)(draw.random);
  const std::int64_t steps = 120, every = std::uniform_int_distribution<int>(7, 90)(draw.random);
  const double rate = draw.positive(1e-5, 1), sharp = draw.positive(0.1, 3) / rate;
  const double level = draw.positive(1e-4, 1e4);
  const bool learning = draw.one_in(2);
  const double slowest = draw.one_in(2) ? 30 : 1e5;  // steps, of which the run has 120
  const int unresolved = draw.one_in(3) ? 1 : 4;
  std::vector<store::Snapshot> snapshots;
  for (std::int64_t step = 0; step < steps; ++step) {
    store::Snapshot out{.step = step};
    const double t = static_cast<double>(step) / steps;
    const double now = rate * (0.51 + 0.5 * std::cos(3.14159 * t));
    const double spike = draw.one_in(80) ? 20 : 1;
    out.scalars = {sample::plain("loss/train", "", level * spike * draw.between(0.99, 1.01)),
                   sample::plain("learning_rate", "", now)};
    if (step % every == 0) {
      out.scalars.push_back(sample::plain("loss/test", "", level * draw.between(0.97, 1)));
      for (int l = 0; l < layers; ++l) {
        const auto layer = "layer" + std::to_string(l);
        add_layer(draw, out, layer, bias);
        if (learning) add_learning(draw, out, layer, bias, slowest, unresolved);
      }
      out.scalars.push_back(
          sample::scalar("hessian/lambda_1",
                         "",
                         sharp * draw.between(0.1, 1),
                         0.01,
                         draw.one_in(5) ? store::Status::kMaxProducts : store::Status::kConverged));
      if (!sgd) {
        out.scalars.push_back(sample::scalar(
            "hessian/preconditioned",
            "",
            sharp * draw.between(5, 50),
            0.2,
            draw.one_in(5) ? store::Status::kMaxProducts : store::Status::kConverged));
        out.scalars.push_back(sample::plain("hessian/stability_limit", "", 38 / now));
      }
    }
    if (step == steps - 1) {
      out.scalars.push_back(sample::plain("cost/features", "", draw.positive(1e-5, 3)));
      out.scalars.push_back(sample::plain("cost/total", "", draw.positive(1e-3, 300)));
    }
    snapshots.push_back(std::move(out));
  }
  run.write(snapshots);
  run.set_state("finished");
  return dir;
}

}  // namespace kappascope::reports
