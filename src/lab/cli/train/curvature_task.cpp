// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/curvature_task.h"

#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <optional>

#include "kappascope/core/error.h"
#include "kappascope/curvature/data_set.h"
#include "lab/nn/attention.h"
#include "lab/nn/evaluation_mode.h"

namespace kappascope::cli {
namespace {

/// Attention that is written out, which has exact products, while one lives.
class WrittenOut {
 public:
  explicit WrittenOut(torch::nn::Module& model) : model_(model) {
    nn::set_fused_attention(model_, false);
  }
  ~WrittenOut() { nn::set_fused_attention(model_, true); }
  WrittenOut(const WrittenOut&) = delete;
  WrittenOut& operator=(const WrittenOut&) = delete;

 private:
  torch::nn::Module& model_;
};

/// Whether the loss of so many rows can have attention written out: a product then costs no more
/// than a difference of two gradients, and what chooses the difference's step costs nothing, but
/// the graph holds tables of all pairs of tokens.
bool can_be_written_out(const train::Task& task, int64_t rows) {
  if (task.config.kind != "language" || !task.config.transformer.fused_attention) return false;
  // Scores and weights of a pass, their gradients, and those of a product.
  constexpr double kTables = 8;
  const auto tokens = static_cast<double>(task.config.context);
  double bytes = 0;
  for (const auto& part : task.model().modules()) {
    const auto* attention = dynamic_cast<const nn::AttentionImpl*>(part.get());
    if (attention == nullptr) continue;
    bytes += 4 * kTables * static_cast<double>(rows * attention->options.heads()) * tokens * tokens;
  }
  return bytes <= static_cast<double>(curvature::DataSetOptions().graph_bytes);
}

template <typename Make>
curvature::LossFunction in_evaluation(const train::Task& task, const at::Tensor& rows, Make make) {
  return [&problem = *task.problem, make, write_out = can_be_written_out(task, rows.numel())] {
    const nn::EvaluationMode evaluation(problem.model());
    std::optional<WrittenOut> written_out;
    if (write_out) written_out.emplace(problem.model());
    return make(problem);
  };
}

}  // namespace

at::Tensor first_rows(const train::Task& task, int64_t rows) {
  if (rows < 1) throw UsageError("the curvature needs at least one training row");
  return torch::arange(std::min(rows, task.problem->rows(data::Split::kTrain)), torch::kLong);
}

curvature::LossFunction curvature_outputs(const train::Task& task, const at::Tensor& rows) {
  return in_evaluation(task, rows, [rows](train::Problem& problem) {
    return problem.outputs(data::Split::kTrain, rows);
  });
}

curvature::LossFunction curvature_losses(const train::Task& task, const at::Tensor& rows) {
  return in_evaluation(task, rows, [rows](train::Problem& problem) {
    const auto terms = problem.losses(data::Split::kTrain, rows);
    return terms.dim() > 1 ? terms.flatten(1).mean(1) : terms;
  });
}

curvature::LossFunction curvature_loss(const train::Task& task, const at::Tensor& rows) {
  return [losses = curvature_losses(task, rows)] { return losses().mean(); };
}

}  // namespace kappascope::cli
