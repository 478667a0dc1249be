// SPDX-License-Identifier: Apache-2.0
#include "python/evaluate.h"

#include <torch/library.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "core/require.h"

namespace kappascope {

at::Tensor evaluate(std::int64_t source, std::int64_t batch) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::evaluate", "")
                                 .typed<at::Tensor(std::int64_t, std::int64_t)>();
  return python.call(source, batch);
}

at::Tensor evaluate_on(std::int64_t source, const at::Tensor& outputs) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::evaluate_on", "")
                                 .typed<at::Tensor(std::int64_t, const at::Tensor&)>();
  return python.call(source, outputs);
}

curvature::NamedParameters named_parameters(std::int64_t source,
                                            const std::vector<std::string>& names) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::parameters", "")
                                 .typed<std::vector<at::Tensor>(std::int64_t)>();
  const auto values = python.call(source);
  require(values.size() == names.size(),
          "there are {} names for {} parameters",
          names.size(),
          values.size());
  curvature::NamedParameters named;
  for (std::size_t i = 0; i < names.size(); ++i) named.emplace_back(names[i], values[i]);
  return named;
}

std::vector<at::Tensor> shards(std::int64_t source) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::shards", "")
                                 .typed<std::vector<at::Tensor>(std::int64_t)>();
  return python.call(source);
}

curvature::ShardedGradient gradient(std::int64_t source) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::gradient", "")
                                 .typed<std::tuple<at::Tensor, at::Tensor>(std::int64_t)>();
  auto [loss, shards] = python.call(source);
  return {std::move(loss), std::move(shards)};
}

std::optional<curvature::Preconditioner> preconditioner_of(std::int64_t source) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::preconditioner_of", "")
                                 .typed<std::tuple<at::Tensor, double>(std::int64_t)>();
  auto [scale, limit] = python.call(source);
  if (std::isnan(limit)) return std::nullopt;
  return curvature::Preconditioner{scale.numel() > 0 ? scale : at::Tensor(), limit};
}

}  // namespace kappascope
