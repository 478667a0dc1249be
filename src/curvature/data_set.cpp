// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/data_set.h"

#include <torch/types.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/require.h"
#include "curvature/products/graph_memory.h"
#include "curvature/products/jtmj.h"

namespace kappascope::curvature {
namespace {

template <typename Operator>
struct Weighted {
  std::unique_ptr<Operator> op;
  double weight = 0;  // n_i / N
};
template <typename Operator>
using Sum = std::vector<Weighted<Operator>>;

/// Makes the operator over one batch.
template <typename Operator>
using Make = std::function<std::unique_ptr<Operator>(const LossFunction&, const OperatorOptions&)>;

template <typename Work>
auto in_batch(std::size_t i, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error("batch " + std::to_string(i) + ": " + error.what());
  }
}

/// Decides batch by batch whether its graph is kept.
template <typename Operator>
class Builder {
 public:
  Builder(const DataSetOptions& options, Make<Operator> make)
      : options_(options),
        next_(options.batch),
        make_(std::move(make)),
        room_(options.graph_bytes) {}

  std::unique_ptr<Operator> build(const LossFunction& batch) {
    if (next_.product != ProductKind::kAutomatic) return make_(batch, next_);
    const GraphMemory memory;
    auto op = make_(batch, next_);
    if (op->product_kind() == ProductKind::kFiniteDifference) next_.product = op->product_kind();
    if (op->product_kind() != ProductKind::kGraphKept) return op;
    room_ -= memory.held();
    if (room_ >= 0) return op;
    op.reset();
    next_.product = ProductKind::kRecomputed;
    return make_(batch, next_);
  }

 private:
  DataSetOptions options_;
  OperatorOptions next_;
  Make<Operator> make_;
  int64_t room_;
};

template <typename Operator>
Sum<Operator> build(const Batches& batches,
                    const DataSetOptions& options,
                    const Make<Operator>& make) {
  require(std::all_of(batches.rows.begin(), batches.rows.end(), [](auto n) { return n > 0; }) &&
              !batches.rows.empty(),
          "a data set needs batches, and each of them a row");
  const auto total =
      static_cast<double>(std::accumulate(batches.rows.begin(), batches.rows.end(), int64_t{0}));
  Builder<Operator> builder(options, make);
  Sum<Operator> sum;
  for (std::size_t i = 0; i < batches.rows.size(); ++i) {
    const auto evaluate = [function = batches.evaluate, i] {
      return function(static_cast<int64_t>(i));
    };
    sum.push_back({in_batch(i, [&] { return builder.build(evaluate); }),
                   static_cast<double>(batches.rows[i]) / total});
  }
  for (std::size_t i = 0; i < sum.size(); ++i) in_batch(i, [&] { sum[i].op->compare(); });
  return sum;
}

Sum<JtmjOperator> build_checked(const Batches& batches,
                                const DataSetOptions& options,
                                const Make<JtmjOperator>& make) {
  auto sum = build(batches, options, make);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    require(sum[i].op->rows() == batches.rows[i],
            "batch {} has {} rows, and {} are stated",
            i,
            sum[i].op->rows(),
            batches.rows[i]);
  }
  return sum;
}

template <typename Operator>
class OverBatches : public CurvatureOperator {
 public:
  explicit OverBatches(Sum<Operator> batches) : batches_(std::move(batches)) {}

  [[nodiscard]] int64_t size() const override { return first().size(); }
  [[nodiscard]] at::TensorOptions vectors() const override { return first().vectors(); }
  [[nodiscard]] double product_noise() const override {
    double noise = 0;
    for (const auto& batch : batches_) noise = std::max(noise, batch.op->product_noise());
    return noise;
  }
  /// The last batch is the first to be no longer kept.
  [[nodiscard]] ProductKind product_kind() const override {
    return batches_.back().op->product_kind();
  }
  [[nodiscard]] std::string product_reason() const override { return first().product_reason(); }
  [[nodiscard]] at::Tensor gradient() const override {
    if (!first().gradient().defined()) return {};
    return sum([](const Operator& op) { return op.gradient(); }).to(vectors());
  }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    return sum([&v](const Operator& op) { return op.apply(v); }).to(vectors());
  }

 protected:
  /// Σ_i (n_i / N) term(batch i), in double.
  template <typename Term>
  [[nodiscard]] at::Tensor sum(const Term& term) const {
    auto total = torch::zeros({size()}, vectors().dtype(torch::kDouble));
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      const auto& batch = batches_[i];
      total.add_(in_batch(i, [&] { return term(*batch.op); }), batch.weight);
    }
    return total;
  }

 private:
  [[nodiscard]] const Operator& first() const { return *batches_.front().op; }

  Sum<Operator> batches_;
};

/// With gradients g and their mean ḡ, Σ (g - ḡ)(g - ḡ)ᵀ v = Σ g (gᵀv - ḡᵀv): the mean is taken off
/// between J and Jᵀ, where it costs no digits.
class CovarianceOverBatches final : public OverBatches<JtmjOperator> {
 public:
  explicit CovarianceOverBatches(Sum<JtmjOperator> batches) : OverBatches(std::move(batches)) {
    mean_ = sum([this](const JtmjOperator& op) {
      const auto rows = op.rows();
      return op.transposed(torch::full({rows, 1}, 1 / static_cast<double>(rows), vectors()));
    });
  }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    const auto mean = (mean_ * v.detach().to(mean_.options())).sum();
    const OutputMetric centred = [&mean](const at::Tensor& push, const at::Tensor&) {
      return (push - mean.to(push.scalar_type())) / static_cast<double>(push.size(0));
    };
    return sum([&](const JtmjOperator& op) { return op.apply(v, centred); }).to(vectors());
  }

 private:
  at::Tensor mean_;  // ḡ: [size] in double
};

}  // namespace

std::unique_ptr<CurvatureOperator> hessian(const Batches& loss,
                                           const NamedParameters& parameters,
                                           const DataSetOptions& options) {
  return std::make_unique<OverBatches<ParameterOperator>>(build<ParameterOperator>(
      loss, options, [&](const LossFunction& batch, const OperatorOptions& each) {
        return make_hessian(batch, parameters, each);
      }));
}

std::unique_ptr<CurvatureOperator> gauss_newton(const Batches& outputs,
                                                OutputLoss loss,
                                                const NamedParameters& parameters,
                                                const DataSetOptions& options) {
  return std::make_unique<OverBatches<JtmjOperator>>(
      build_checked(outputs, options, [&](const LossFunction& batch, const OperatorOptions& each) {
        return make_gauss_newton(batch, output_hessian(loss), parameters, each);
      }));
}

std::unique_ptr<CurvatureOperator> empirical_fisher(const Batches& losses,
                                                    const NamedParameters& parameters,
                                                    const DataSetOptions& options) {
  return std::make_unique<OverBatches<JtmjOperator>>(
      build_checked(losses, options, [&](const LossFunction& batch, const OperatorOptions& each) {
        return make_fisher(batch, parameters, each);
      }));
}

std::unique_ptr<CurvatureOperator> gradient_covariance(const Batches& losses,
                                                       const NamedParameters& parameters,
                                                       const DataSetOptions& options) {
  return std::make_unique<CovarianceOverBatches>(
      build_checked(losses, options, [&](const LossFunction& batch, const OperatorOptions& each) {
        return make_fisher(batch, parameters, each);
      }));
}

}  // namespace kappascope::curvature
