// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/linear_cross_entropy.h"

#include <fmt/ranges.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "core/require.h"

namespace kappascope::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The type in which probabilities are computed: that of the logits, but not one of 16 bits.
at::ScalarType wide(at::ScalarType logits) {
  return logits == torch::kDouble ? torch::kDouble : torch::kFloat;
}

struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  // The gradients of the mean are computed beside it where `slopes` asks for them.
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& h,
                            const at::Tensor& weight,
                            const at::Tensor& targets,
                            std::int64_t rows,
                            bool slopes) {
    const auto n = h.size(0);
    auto sum = torch::zeros({}, h.options().dtype(torch::kDouble));
    at::Tensor of_h, of_weight;
    if (slopes) {
      of_h = torch::empty_like(h);
      of_weight = torch::zeros_like(weight);
    }
    for (std::int64_t begin = 0; begin < n; begin += rows) {
      const auto count = std::min(rows, n - begin);
      const auto some = h.narrow(0, begin, count);
      const auto wanted = targets.narrow(0, begin, count).unsqueeze(1);
      auto logits = torch::linear(some, weight);
      const auto type = logits.scalar_type();
      auto p = torch::log_softmax(logits, -1, wide(type));
      logits.reset();
      sum -= p.gather(1, wanted).sum(torch::kDouble);
      if (!slopes) continue;
      // softmax - one hot: n times the gradient of the mean at the logits.
      p.exp_().scatter_add_(1, wanted, torch::full({count, 1}, -1, p.options()));
      if (p.scalar_type() == of_weight.scalar_type() && type == of_weight.scalar_type()) {
        of_weight.addmm_(p.t(), some);
      } else {
        p = p.to(type);
        of_weight.add_(p.t().matmul(some.to(type)));
      }
      of_h.narrow(0, begin, count).copy_(p.matmul(weight));
    }
    if (slopes) {
      const auto scale = 1 / static_cast<double>(n);
      ctx->save_for_backward({h, weight, targets, of_h.mul_(scale), of_weight.mul_(scale)});
      ctx->saved_data["rows"] = rows;
    }
    return sum.div_(static_cast<double>(n)).to(h.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outer) {
    const auto saved = ctx->get_saved_variables();
    const auto& g = outer.at(0);
    const at::Tensor none;
    if (!torch::GradMode::is_enabled()) return {saved[3] * g, saved[4] * g, none, none, none};
    // The gradients as functions of h and weight, for whoever differentiates them again.
    const auto &h = saved[0], &weight = saved[1], &targets = saved[2];
    const auto n = h.size(0), rows = ctx->saved_data["rows"].toInt();
    variable_list of_h;
    auto of_weight = torch::zeros_like(weight);
    for (std::int64_t begin = 0; begin < n; begin += rows) {
      const auto count = std::min(rows, n - begin);
      const auto some = h.narrow(0, begin, count);
      const auto logits = torch::linear(some, weight);
      const auto p = torch::softmax(logits, -1, wide(logits.scalar_type()));
      const auto hot = torch::one_hot(targets.narrow(0, begin, count), weight.size(0));
      const auto slope = ((p - hot) * (g / static_cast<double>(n))).to(logits.scalar_type());
      of_h.push_back(slope.matmul(weight));
      of_weight = of_weight + slope.t().matmul(some);
    }
    return {torch::cat(of_h), of_weight, none, none, none};
  }
};

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& h,
                                const at::Tensor& weight,
                                const at::Tensor& targets,
                                std::int64_t rows) {
  require(h.dim() == 2 && weight.dim() == 2 && h.size(1) == weight.size(1) && h.size(0) > 0,
          "the cross entropy takes h [n, width] and weight [classes, width], got {} and {}",
          h.sizes(),
          weight.sizes());
  require(targets.dim() == 1 && targets.size(0) == h.size(0),
          "the cross entropy takes a target for each of {} rows, got {}",
          h.size(0),
          targets.sizes());
  require(rows > 0, "the cross entropy takes at least one row at a time, got {}", rows);
  const bool slopes =
      torch::GradMode::is_enabled() && (h.requires_grad() || weight.requires_grad());
  return LinearCrossEntropy::apply(h, weight, targets, rows, slopes);
}

}  // namespace kappascope::nn
