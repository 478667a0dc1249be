// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/preconditioner.h"
#include "kappascope/linalg/density.h"
#include "kappascope/session/probe.h"

namespace kappascope::probes {

struct HessianSpectrumOptions {
  int top = 5;              ///< eigenvalues at each end
  double tolerance = 1e-3;  ///< of the residual, relative to the largest magnitude of both ends
  int max_products = 200;
  bool density = true;  ///< spectral density by stochastic Lanczos quadrature
  int density_steps = 60;
  int density_starts = 4;
  std::uint64_t seed = 0;
  /// Called after each product with how many the window has taken. False ends the window: the
  /// eigenvalues or the density that it was at are left out, with an event "hessian_stopped".
  std::function<bool(int products)> on_product = {};
  /// Called before each evaluation of the loss that comes before the first product, with how many
  /// there were. False ends the window.
  std::function<bool(int evaluations)> on_set_up = {};
  /// What the optimiser sees of the parameters; nothing: not yet, or not known. Empty: not asked.
  std::function<std::optional<curvature::Preconditioner>(const curvature::NamedParameters&)>
      preconditioner = {};
  std::function<double()> clock = {};  ///< seconds; empty: one that never goes back
};

/// Top and bottom eigenvalues of the loss's Hessian on a fixed batch, with residuals, and its
/// spectral density, of which those that are known well are an exact part. Writes
/// hessian/lambda_1.., hessian/lambda_min_1.., hessian/trace, hessian/products (those of the
/// eigenvalues), where the preconditioner is known hessian/preconditioned and
/// hessian/stability_limit, and the array hessian/density ([4, points]: grid, density, lower,
/// upper). The interval of λ_1 and λ_min_1 holds what may have been missed beyond it (95 %), and
/// further values that are not certified to be those of their rank have the status "uncertified".
/// Each measurement starts from the vectors of the last. Evaluates its own loss, which must be
/// deterministic, when a window ends, and ignores training steps; a failure becomes the event
/// "hessian_failed". Cost: its products, each about two gradients of that loss; memory of one kept
/// graph, and of up to 80 vectors of the parameters' size while it measures, one in between. Within
/// a budget the set-up ends where its time does, and then one product is timed: where fewer than
/// kFewestProducts fit, the window is put off; where not all fit, the eigenvalues take what they
/// need of those that do, and the density's starts what is left. Either is the event
/// "hessian_budget". In a group it is the Hessian of the mean of the processes' losses, each on a
/// batch of its own: process 0 asks the others for products, or where the operator is shared_with()
/// them, all take the same steps, by the clock of process 0.
class HessianSpectrum final : public session::Probe {
 public:
  /// With fewer no eigenvalue comes near its tolerance.
  static constexpr int kFewestProducts = 10;

  /// The operator of a window, made as the options say, which the processes of the group measure
  /// together; null: alone.
  using MakeOperator = std::function<std::unique_ptr<curvature::CurvatureOperator>(
      tensor::Group*, const curvature::OperatorOptions&)>;

  HessianSpectrum(MakeOperator make,
                  std::function<curvature::NamedParameters()> parameters,
                  HessianSpectrumOptions options = {});
  /// The Hessian of a loss. `parameters` are asked for at every emission.
  HessianSpectrum(curvature::LossFunction loss,
                  std::function<curvature::NamedParameters()> parameters,
                  HessianSpectrumOptions options = {});

  [[nodiscard]] std::string_view name() const override { return "hessian"; }
  [[nodiscard]] session::Needs needs() const override { return {}; }
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_within(double seconds, store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] double least_seconds() const override { return least_seconds_; }
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  [[nodiscard]] double now() const;
  [[nodiscard]] at::Device device() const;
  /// The operator, whose set-up ends with the budget, and where it is asked to.
  [[nodiscard]] std::unique_ptr<curvature::CurvatureOperator> set_up(tensor::Group* group,
                                                                     double begin,
                                                                     double seconds);
  void measure(const curvature::CurvatureOperator& hessian,
               double begin,
               double seconds,
               store::Snapshot& out);
  /// Products taken.
  int measure_preconditioned(const curvature::CurvatureOperator& op,
                             const linalg::ExtremeEigenvalues& plain,
                             int affordable,
                             double end,
                             store::Snapshot& out);

  MakeOperator make_;
  std::function<curvature::NamedParameters()> parameters_;
  HessianSpectrumOptions options_;
  at::Tensor start_;  // the sum of the last eigenvectors; undefined before the first
  double least_seconds_ = 0;
};

}  // namespace kappascope::probes
