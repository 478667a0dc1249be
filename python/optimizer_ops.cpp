// SPDX-License-Identifier: Apache-2.0
// What an optimiser of Python makes of a gradient, from its state (kappascope/_optimizers.py).
#include <torch/library.h>
#include <torch/types.h>

#include <string>
#include <tuple>

#include "core/require.h"
#include "kappascope/curvature/preconditioner.h"

namespace kappascope {
namespace {

/// The diagonal of P^(-1/2), [n] (empty: P = 1), and the limit of stability.
std::tuple<at::Tensor, double> preconditioner(const std::string& kind,
                                              at::TensorList second,
                                              const c10::Dict<std::string, double>& numbers) {
  const auto number = [&](const char* name) { return numbers.at(name); };
  curvature::Preconditioner found;
  if (kind == "sgd") {
    found.limit = curvature::momentum_limit(number("rate"), number("momentum"));
  } else if (kind == "rmsprop") {
    found = curvature::rmsprop_preconditioner({.second = second.vec(),
                                               .rate = number("rate"),
                                               .momentum = number("momentum"),
                                               .eps = number("eps")});
  } else {
    require(kind == "adam", "an optimiser is sgd, adam or rmsprop, got '{}'", kind);
    found = curvature::adam_preconditioner({.second = second.vec(),
                                            .steps = static_cast<int64_t>(number("steps")),
                                            .rate = number("rate"),
                                            .beta1 = number("beta1"),
                                            .beta2 = number("beta2"),
                                            .eps = number("eps")});
  }
  return {found.scale.defined() ? found.scale : torch::empty({0}, torch::kDouble), found.limit};
}

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  library.def(
      "preconditioner(str kind, Tensor[] second, Dict(str, float) numbers) -> (Tensor, float)",
      &kappascope::preconditioner);
  // Asked by a session: of the optimiser under this number; NaN where its limit is not known.
  library.def("preconditioner_of(int source) -> (Tensor scale, float limit)");
}
