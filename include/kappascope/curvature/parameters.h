// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace torch::nn {
class Module;
}

namespace kappascope::curvature {

/// Parameters with their names, in the order in which their entries make up a vector.
using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// The parameters of `model` whose name matches `pattern`: a glob with `*` (any characters) and
/// `?` (one), "*" takes all. A tensor that the model holds under several names (shared weights)
/// comes once, under the first name that matches. Throws when none matches, naming what there is.
NamedParameters select_parameters(const torch::nn::Module& model, const std::string& pattern = "*");

}  // namespace kappascope::curvature
