// SPDX-License-Identifier: Apache-2.0
// torch.classes.kappascope.Curvature, an operator that Python keeps and multiplies with. Python's
// side of it is kappascope/_operator.py.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kappascope/curvature/solve.h"
#include "python/operator.h"

namespace kappascope {
namespace {

class PythonCurvature final : public torch::CustomClassHolder {
 public:
  /// As the questions of ops.cpp take them.
  PythonCurvature(const std::optional<at::Tensor>& value,
                  int64_t source,
                  const std::vector<int64_t>& rows,
                  const std::vector<at::Tensor>& parameters,
                  const std::vector<std::string>& names,
                  const std::string& kind,
                  const std::string& output_loss,
                  const std::string& product)
      : operator_(make_operator({.value = value,
                                 .source = source,
                                 .rows = rows,
                                 .parameters = parameters,
                                 .names = names,
                                 .kind = kind,
                                 .output_loss = output_loss,
                                 .product = product,
                                 .group = {}})) {}

  at::Tensor apply(const at::Tensor& v) const { return operator_->apply(v); }
  /// Of a Hessian; undefined becomes None.
  std::optional<at::Tensor> gradient() const {
    const auto found = operator_->gradient();
    return found.defined() ? std::optional(found.clone()) : std::nullopt;
  }
  /// An empty vector in the type and on the device of the products.
  at::Tensor like() const { return at::empty({0}, operator_->vectors()); }
  /// How products are taken, and why not exactly; "": they are.
  std::tuple<std::string, std::string> kind() const {
    return {curvature::to_string(operator_->product_kind()), operator_->product_reason()};
  }
  double noise() const { return operator_->product_noise(); }
  /// x, its residual, products, status.
  std::tuple<at::Tensor, double, int64_t, std::string> solve(const at::Tensor& b,
                                                             double damping,
                                                             double tolerance,
                                                             int64_t max_products) const {
    const auto found =
        curvature::solve(*operator_,
                         b,
                         {.damping = damping,
                          .tolerance = tolerance,
                          .max_products = checked_int(max_products, "max_products")});
    return {found.x, found.residual, found.products, curvature::to_string(found.status)};
  }
  /// Values, their standard errors, products, whether they are exact.
  std::tuple<at::Tensor, at::Tensor, int64_t, bool> diagonal(int64_t max_products,
                                                             int64_t seed) const {
    const auto found =
        curvature::diagonal(*operator_,
                            {.max_products = checked_int(max_products, "max_products"),
                             .seed = static_cast<std::uint64_t>(seed)});
    return {found.value, found.standard_error, found.products, found.exact};
  }

  /// Value, lower and upper bound, smallest Ritz value, products, status.
  std::tuple<double, double, double, double, int64_t, std::string> log_determinant(
      double damping,
      bool positive_semidefinite,
      int64_t starts,
      int64_t steps,
      int64_t seed) const {
    const auto found = curvature::log_determinant(*operator_,
                                                  {.damping = damping,
                                                   .positive_semidefinite = positive_semidefinite,
                                                   .starts = checked_int(starts, "starts"),
                                                   .steps = checked_int(steps, "steps"),
                                                   .seed = static_cast<std::uint64_t>(seed)});
    return {found.value,
            found.lower,
            found.upper,
            found.smallest,
            found.products,
            curvature::to_string(found.status)};
  }

 private:
  std::unique_ptr<curvature::CurvatureOperator> operator_;
};

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  using Curvature = kappascope::PythonCurvature;
  library.class_<Curvature>("Curvature")
      .def(torch::init<std::optional<at::Tensor>,
                       int64_t,
                       std::vector<int64_t>,
                       std::vector<at::Tensor>,
                       std::vector<std::string>,
                       std::string,
                       std::string,
                       std::string>())
      .def("apply", &Curvature::apply)
      .def("gradient", &Curvature::gradient)
      .def("like", &Curvature::like)
      .def("kind", &Curvature::kind)
      .def("noise", &Curvature::noise)
      .def("solve", &Curvature::solve)
      .def("diagonal", &Curvature::diagonal)
      .def("log_determinant", &Curvature::log_determinant);
}
