// SPDX-License-Identifier: Apache-2.0
// A pair of runs that look like training, without training: two arms, three layers, 20 snapshots.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/temporary_folder.h"
#include "kappascope/store/run.h"
#include "reports/sample_spectrum.h"

namespace kappascope::reports {

struct SampleOptions {
  std::string label = "no bias";
  bool bias = false;      ///< the layers have a post-gating bias
  bool spectrum = true;   ///< `kappascope spectrum` was run at the end
  bool hessian = true;    ///< eigenvalues and density were measured
  bool nan_loss = false;  ///< the loss stops being a number at step 1500
  std::int64_t steps = 2000;
  int layers = 3;              ///< of which every third is alike
  std::string layer_suffix{};  ///< for hostile names
  int seed = 1;                ///< of the noise too
  std::string condition{};
};

namespace sample {

inline void add_layer(store::Snapshot& out, const SampleOptions& options, int index, double t) {
  const int l = index % 3;
  const std::string layer = "blocks." + std::to_string(index) + ".down_proj" + options.layer_suffix;
  const double wiggle = 1 + 0.05 * std::sin(37 * t + l + (options.bias ? 1 : 0));
  const double sigma =
      (30 + 25 * l + 0.7 * index - 0.7 * l) * (1 + (options.bias ? 2.5 : 4) * t) * wiggle;
  const double inflation = 1 + (6 + 16 * l) * (1 - std::exp(-6 * t));
  const double left = std::exp(-2.5 * t) * (0.6 - 0.1 * l) + 0.4 - std::exp(-9 * t) * 0.1 + 0.1 * l;
  const bool early = t < 0.06;
  auto kappa = scalar("kappa/sigma", layer, sigma, 0.08);
  if (early && l == 2) {
    kappa.status = "not_resolvable";
    kappa.n_effective = 480;
    kappa.upper = std::numeric_limits<double>::infinity();
    kappa.lower = 20;
  }
  if (t < 0.01 && l == 1) {
    kappa = {.name = "kappa/sigma",
             .layer = layer,
             .value = std::numeric_limits<double>::infinity(),
             .status = "degenerate"};
  }
  out.scalars.push_back(kappa);
  out.scalars.push_back(scalar("kappa/sigma_shrunk", layer, sigma * 0.9, 0.08));
  out.scalars.push_back(scalar("kappa/second_moment", layer, sigma * inflation, 0.1));
  out.scalars.push_back(scalar("kappa/mean_costs", layer, inflation, 0.03));
  out.scalars.push_back({.name = "layer/width", .layer = layer, .value = 96});
  out.scalars.push_back({.name = "features/dead", .layer = layer, .value = l == 2 ? 3.0 : 0.0});
  if (options.bias) {
    out.scalars.push_back(
        scalar("kappa/with_bias", layer, sigma * (1 + (inflation - 1) * left), 0.1));
    out.scalars.push_back(scalar("kappa/bias_leaves", layer, 1 + (inflation - 1) * left, 0.03));
    out.scalars.push_back(
        {.name = "bias/cos", .layer = layer, .value = (0.96 - 0.2 * l) * (1 - left) + 0.1});
    out.scalars.push_back({.name = "bias/residual", .layer = layer, .value = left});
    out.scalars.push_back({.name = "bias/norm", .layer = layer, .value = 1 - left});
  }
  out.scalars.push_back(plain("magnitude/largest", layer, (l == 1 ? 600 : 20) * (t + 0.1)));
  out.scalars.push_back(scalar("magnitude/median", layer, 0.1 * wiggle, 0.05));
  out.scalars.push_back(scalar("magnitude/p99", layer, 3 * wiggle, 0.1));
  out.scalars.push_back(scalar("magnitude/channel_kurtosis", layer, 1 + l + 8 * t, 0.1));
  out.scalars.push_back(scalar("magnitude/lost_e4m3", layer, 0.02 * (l + t), 0.2));
  out.scalars.push_back(scalar("magnitude/lost_e5m2", layer, 0.001 * (l + t), 0.2));
  out.scalars.push_back(scalar("gates/open", layer, 0.5 - 0.1 * l * t, 0.02));
  out.scalars.push_back(scalar("gates/saturated", layer, 0.05 + 0.1 * l * t, 0.1));
  out.scalars.push_back(plain("gates/closed", layer, std::floor(3 * l * t)));
  out.scalars.push_back(plain("gates/always_open", layer, 0));
  const std::string router = "blocks." + std::to_string(index) + ".router" + options.layer_suffix;
  out.scalars.push_back(scalar("router/entropy", router, 0.9 - 0.2 * l * t, 0.02));
  out.scalars.push_back(scalar("router/margin", router, 0.2 + 0.3 * l * t, 0.05));
  out.scalars.push_back(scalar("router/close", router, 0.04 - 0.01 * l * t, 0.2));
  out.scalars.push_back(plain("weight/alignment", layer, 0.05 + 0.01 * t));
  out.scalars.push_back(plain("weight/alignment_largest", layer, 0.2 + 0.38 * l * t));
  const std::string attention = "blocks." + std::to_string(index) + ".attn" + options.layer_suffix;
  out.scalars.push_back(plain("attention/largest_logit", attention, 10 + 60 * l * t));
  out.scalars.push_back(scalar("attention/entropy", attention, 0.8 - 0.1 * l * t, 0.02));
  out.scalars.push_back(plain("attention/lowest_entropy", attention, 0.5 - 0.2 * l * t));
  out.scalars.push_back(scalar("weight/unchanged", layer, l == 2 ? 0.7 : 0.01, 0.02));
  for (const char* matrix : {"down", "gate", "up"}) {
    const std::string name = std::string("weight/") + matrix;
    out.scalars.push_back(scalar(name + "_update", layer, 1e-3 * (1.1 - t), 0.02));
    out.scalars.push_back(scalar(name + "_norm", layer, 1 + t * (l + 1), 0.001, "converged"));
    out.scalars.push_back(scalar(name + "_stable_rank", layer, 20 - 5 * t, 0.001, "converged"));
  }
  out.scalars.push_back(scalar("magnitude/lost_mxfp8", layer, 0.002 * (l + t), 0.2));
  const double v = (options.bias ? 0.8 : 1.0) * wiggle * 2e-3 * (l + 1) * std::exp(-2 * t) + 1e-4;
  out.scalars.push_back(scalar("gradvar/measured", layer, v, 0.06));
  out.scalars.push_back({.name = "gradvar/derived", .layer = layer, .value = v * 1.02});
  out.scalars.push_back(
      {.name = "gradvar/published", .layer = layer, .value = v * (0.62 - 0.1 * l)});
  out.scalars.push_back({.name = "gradvar/independence", .layer = layer, .value = v * 0.05});
  out.scalars.push_back({.name = "gradvar/zero_mean", .layer = layer, .value = v * 0.03});
  out.scalars.push_back(scalar("gradvar/b_zero", layer, v * 1.3, 0.06));
  if (options.bias) out.scalars.push_back(scalar("gradvar/b_learned", layer, v, 0.06));
  out.scalars.push_back(scalar("gradvar/b_minus_mean", layer, v * 0.8, 0.06));
  out.scalars.push_back(scalar("gradvar/b_minimiser", layer, v * 0.78, 0.06));
}

inline void add_hessian(store::Snapshot& out, double t, double sharpness) {
  for (int k = 1; k <= 4; ++k) {
    const double value = sharpness * (6 + 60 * t) / std::pow(k, 1.3);
    out.scalars.push_back(
        scalar("hessian/lambda_" + std::to_string(k),
               "",
               value,
               0.002,
               k == 4 && t < 0.3 ? store::Status::kMaxProducts : store::Status::kConverged));
  }
  out.scalars.push_back(
      scalar("hessian/lambda_min_1", "", -0.4 * sharpness * (1 + t), 0.002, "converged"));
  out.scalars.back().lower = -0.41 * sharpness * (1 + t);
  out.scalars.back().upper = -0.39 * sharpness * (1 + t);
  out.scalars.push_back(scalar(
      "hessian/preconditioned", "", sharpness * 3e3 * t + 10, 0.002, store::Status::kConverged));
  out.scalars.push_back(scalar("hessian/along_gradient", "", sharpness * (2 + 9 * t), 0.001, "ok"));
  out.scalars.push_back(
      scalar("hessian/preconditioned_along_gradient", "", sharpness * 900 * t + 3, 0.001, "ok"));
  out.scalars.push_back(plain("hessian/stability_limit", "", 38 / (1e-2 * (1.02 - t))));
  out.scalars.push_back(scalar("step/critical", "", 40 / (1 + 30 * t), 0.04, "resolved"));
  out.scalars.push_back(scalar("hessian/trace", "", sharpness * 300, 0.05, "ok"));
  constexpr std::int64_t kPoints = 160;
  store::Array density{.name = "hessian/density", .shape = {4, kPoints}};
  density.data.resize(4 * kPoints);
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const double x = -2 + (sharpness * (6 + 60 * t) + 4) * static_cast<double>(i) / kPoints;
    double y = 1.6 * std::exp(-x * x / 0.3) + 0.02 * std::exp(-std::abs(x) / 4);
    for (int k = 1; k <= 4; ++k) {
      const double d = x - sharpness * (6 + 60 * t) / std::pow(k, 1.3);
      y += 2e-4 * std::exp(-d * d / 0.4);
    }
    const auto at = static_cast<std::size_t>(i);
    density.data[at] = x;
    density.data[at + kPoints] = y;
    density.data[at + 2 * kPoints] = y * 0.7;
    density.data[at + 3 * kPoints] = y * 1.4;
  }
  out.arrays.push_back(std::move(density));
}

}  // namespace sample

/// Writes the run into `dir` and returns `dir`. The numbers are the same in every call.
inline std::filesystem::path write_sample_run(const std::filesystem::path& dir,
                                              const SampleOptions& options = {}) {
  auto run =
      store::RunWriter::create(dir,
                               {{"label", options.label},
                                {"version", "0.1.0"},
                                {"created", "2026-01-31T12:00:00Z"},
                                {"config",
                                 std::string("[model]\nffn = swiglu\nblocks = 3\n[probes]\n") +
                                     (options.bias ? "budget = 0\n" : "budget = 0.005\n")},
                                {"data", "Fashion-MNIST, 60000 images"},
                                {"seed", std::to_string(options.seed)},
                                {"condition", options.condition},
                                {"device", "cpu"},
                                {"parameters", "669706"}});
  std::mt19937 random(static_cast<unsigned>(options.seed) + (options.bias ? 1U : 0U));
  std::normal_distribution<double> noise(0, 1);
  const std::int64_t every = options.steps / 19;
  std::vector<store::Snapshot> snapshots;
  for (std::int64_t step = 0; step <= options.steps; ++step) {
    const double t = static_cast<double>(step) / static_cast<double>(options.steps);
    const double loss = 0.3 + 2 * std::exp(-9 * t) - (options.bias ? 0.012 * t : 0);
    const bool broken = options.nan_loss && step >= 1500;
    store::Snapshot pending{.step = step};
    pending.scalars.push_back({.name = "loss/train",
                               .value = broken ? std::numeric_limits<double>::quiet_NaN()
                                               : loss * (1 + 0.08 * noise(random)),
                               .status = broken ? store::Status::kNonFinite : store::Status::kOk});
    pending.scalars.push_back({.name = "learning_rate", .value = 1e-2 * (1.02 - t)});
    if (step % every == 0 && !broken) {
      pending.scalars.push_back(
          {.name = "loss/test", .value = loss * 1.05 + 0.004 * noise(random)});
      for (int l = 0; l < options.layers; ++l) sample::add_layer(pending, options, l, t);
      if (options.hessian) sample::add_hessian(pending, t, options.bias ? 0.8 : 1.1);
    }
    if (options.nan_loss && step == 1500) {
      pending.events.push_back({"nan_loss", "loss is not a number; checkpoint saved"});
    }
    if (step == options.steps && options.spectrum)
      sample::add_stored_spectrum(pending, options.bias ? 0.8 : 1.1, 3);
    if (step == options.steps) {
      const store::Attributes budget = {{"budget", options.bias ? "0" : "0.005"}};
      pending.scalars.push_back(
          {.name = "cost/feature_moments", .value = 0.009, .attributes = budget});
      pending.scalars.push_back({.name = "cost/hessian", .value = 0.0075, .attributes = budget});
      pending.scalars.push_back({.name = "cost/total", .value = 0.0165});
      pending.scalars.push_back({.name = "cost/step_seconds", .value = 0.05});
      pending.scalars.push_back({.name = "step/rows", .value = 1024});
      pending.scalars.push_back({.name = "memory/process", .value = 3e9});
      pending.scalars.push_back({.name = "memory/device", .value = 5e9});
    }
    snapshots.push_back(std::move(pending));
    if (broken) break;
  }
  run.write(snapshots);
  run.write_verdict({"P-P1f",
                     "holds under a condition",
                     "the top eigenvector of Σ is not orthogonal to μ",
                     R"json({
    "id": "P-P1f", "source": "Post-gating bias, Proposition 1",
    "statement": "κ(Σ+μμᵀ) ≥ κ(Σ), strictly when μ ∉ ker Σ", "left": "κ(Σ+μμᵀ)", "right": "κ(Σ)",
    "measured": 1.23, "predicted": 4.0, "margin": 0.69, "cases": 10000, "seed": 1,
    "witness": "Σ = diag(4, 1), μ = (0, 1.5): κ falls from 4 to 1.23", "route": "search",
    "seconds": 0.4})json"});
  run.write_verdict({"P-L2a",
                     "refuted",
                     "",
                     R"json({
    "id": "P-L2a", "source": "Post-gating bias, Lemma 2",
    "statement": "Var = E[(uᵀγ)²](pσ² + (pμ + b)²)", "left": "Var(g)", "right": "formula",
    "measured": 0.75, "predicted": 1.0, "lower": 0.74, "upper": 0.76, "margin": 0.25, "cases": 1,
    "seed": 1, "witness": "p = 1/2, σ = 1, μ = 1, b = 0", "route": "exact", "seconds": 0.1})json"});
  run.set_state(options.nan_loss ? "failed" : "finished");
  return dir;
}

/// 65 short runs of a study: 13 arms and conditions, five seeds each.
inline std::vector<std::filesystem::path> write_many_runs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> runs;
  for (int kind = 0; kind < 13; ++kind) {
    for (int seed = 1; seed <= 5; ++seed) {
      runs.push_back(
          write_sample_run(folder / ("run-" + std::to_string(kind) + "-" + std::to_string(seed)),
                           {.label = kind % 2 == 0 ? "no bias" : "post-gating bias",
                            .bias = kind % 2 == 1,
                            .spectrum = false,
                            .hessian = false,
                            .steps = 60,
                            .layers = 2,
                            .seed = seed,
                            .condition = "learning-rate 0.00" + std::to_string(1 + kind / 2)}));
    }
  }
  return runs;
}

}  // namespace kappascope::reports
