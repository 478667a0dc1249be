// SPDX-License-Identifier: Apache-2.0
#include "python/operator.h"

#include <c10/util/ScopeExit.h>
#include <torch/library.h>
#include <torch/types.h>

#include <limits>
#include <memory>
#include <string>

#include "core/require.h"
#include "curvature/sharded.h"
#include "kappascope/curvature/data_set.h"
#include "python/evaluate.h"

namespace kappascope {
namespace {

curvature::ProductKind product_named(const std::string& name) {
  using curvature::ProductKind;
  for (const auto kind : {ProductKind::kAutomatic,
                          ProductKind::kGraphKept,
                          ProductKind::kRecomputed,
                          ProductKind::kFiniteDifference}) {
    if (name == curvature::to_string(kind)) return kind;
  }
  throw Error("product must be automatic, graph kept, recomputed or finite difference, got '" +
              name + "'");
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

curvature::OutputLoss output_loss_named(const std::string& name) {
  if (name == "squared") return curvature::OutputLoss::kSquared;
  require(name == "cross_entropy",
          "the loss on the outputs must be cross_entropy or squared, got '{}'",
          name);
  return curvature::OutputLoss::kCrossEntropy;
}

curvature::LossFunction evaluated(const Given& given) {
  return [value = given.value, source = given.source] { return value ? *value : evaluate(source); };
}

/// Of one evaluation (a LossFunction) or of batches, which have overloads of the same names.
template <typename Loss, typename Options>
std::unique_ptr<curvature::CurvatureOperator> operator_of(
    const Given& given,
    const Loss& loss,
    const curvature::NamedParameters& parameters,
    const Options& options) {
  if (given.kind == "hessian") return curvature::hessian(loss, parameters, options);
  if (given.kind == "fisher") return curvature::empirical_fisher(loss, parameters, options);
  if (given.kind == "covariance") return curvature::gradient_covariance(loss, parameters, options);
  require(given.kind == "ggn",
          "operator must be hessian, ggn, fisher or covariance, got '{}'",
          given.kind);
  return curvature::gauss_newton(loss, output_loss_named(given.output_loss), parameters, options);
}

}  // namespace

int checked_int(int64_t value, const char* name) {
  require(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
          "{} is out of range: {}",
          name,
          value);
  return static_cast<int>(value);
}

std::unique_ptr<curvature::CurvatureOperator> make_operator(const Given& given,
                                                            tensor::Group* group) {
  require(given.names.size() == given.parameters.size(),
          "there are {} names for {} parameters",
          given.names.size(),
          given.parameters.size());
  curvature::NamedParameters parameters;
  for (std::size_t i = 0; i < given.names.size(); ++i)
    parameters.emplace_back(given.names[i], given.parameters[i]);
  curvature::OperatorOptions options{.product = product_named(given.product)};
  // Afterwards it is between products that a call ends, with what they gave.
  const auto setting_up = std::make_shared<bool>(true);
  const auto set_up = c10::make_scope_exit([&] { *setting_up = false; });
  options.before_evaluation = [setting_up, watcher = given.watcher] {
    // Processes that share parameters end together where the gradient is asked for.
    require(!*setting_up || report_progress(watcher, nullptr, kSettingUp),
            "interrupted before the first product");
  };
  const auto source = given.source;
  if (given.sharded) {
    require(given.kind == "hessian",
            "sharded parameters have curvature by differences of gradients, which is the Hessian's "
            "alone: operator \"{}\" needs whole parameters",
            given.kind);
    return sharded_hessian(source, given.names, group, options);
  }
  if (!given.rows.empty()) {
    const curvature::Batches batches{[source](int64_t batch) { return evaluate(source, batch); },
                                     given.rows.vec()};
    return operator_of(given, batches, parameters, curvature::DataSetOptions{.batch = options});
  }
  // A given tensor is what it is: there is nothing to evaluate twice.
  options.check_determinism = !given.value;
  if (given.kind == "ggn" && is_number(given.output_loss)) {
    const curvature::LossOfOutputs loss =
        [number = std::stoll(given.output_loss)](const at::Tensor& outputs) {
          return evaluate_on(number, outputs);
        };
    return curvature::gauss_newton(evaluated(given), loss, parameters, options);
  }
  return operator_of(given, evaluated(given), parameters, options);
}

std::unique_ptr<curvature::CurvatureOperator> sharded_hessian(
    int64_t source,
    const std::vector<std::string>& names,
    tensor::Group* group,
    const curvature::OperatorOptions& options) {
  const auto held = shards(source);
  require(
      names.size() == held.size(), "there are {} names for {} shards", names.size(), held.size());
  curvature::NamedParameters parameters;
  for (std::size_t i = 0; i < names.size(); ++i) parameters.emplace_back(names[i], held[i]);
  return curvature::sharded_hessian(
      [source] { return gradient(source); }, parameters, group, options);
}

bool report_progress(int64_t watcher,
                     tensor::Group* group,
                     int64_t products,
                     const linalg::LanczosProgress& progress) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::progress", "")
                                 .typed<bool(int64_t, int64_t, int64_t, int64_t, double)>();
  const bool goes_on =
      watcher < 0 ||
      python.call(watcher, products, progress.converged, progress.wanted, progress.residual);
  if (group == nullptr) return goes_on;
  auto ended = torch::full({1}, goes_on ? 0 : 1, torch::kLong);
  group->add_up(ended);
  return ended.item<int64_t>() == 0;
}

std::unique_ptr<curvature::CurvatureOperator> watched(const curvature::CurvatureOperator& op,
                                                      int64_t watcher) {
  return curvature::watched(op, [&op, watcher](int products) {
    require(report_progress(watcher, op.shared_with(), products),
            "interrupted after {} products",
            products);
  });
}

}  // namespace kappascope
