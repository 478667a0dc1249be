// SPDX-License-Identifier: Apache-2.0
#include "train/batch_pass.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include "kappascope/core/error.h"
#include "kappascope/session/passes.h"
#include "kappascope/session/session.h"

namespace kappascope::train {
namespace {

bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // The host's allocator has no type of error of its own.
  return std::string(error.what_without_backtrace()).find("allocate memory") != std::string::npos;
}

/// The loss, or why there was no memory for it.
struct Attempt {
  std::optional<double> loss;
  std::string why;
};

Attempt attempt(Problem& problem, const at::Tensor& rows, std::int64_t micro_batch) {
  try {
    return {add_gradients(problem, rows, micro_batch), ""};
  } catch (const std::bad_alloc& error) {
    return {{}, error.what()};
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw;
    return {{}, error.what_without_backtrace()};
  }
}

}  // namespace

double add_gradients(Problem& problem, const at::Tensor& rows, std::int64_t micro_batch) {
  const auto all = rows.numel();
  if (micro_batch == 0 || micro_batch >= all) {
    const auto loss = problem.mean_loss(data::Split::kTrain, rows);
    loss.backward();
    return loss.item<double>();
  }
  double sum = 0;
  for (const auto& some : rows.split(micro_batch)) {
    const double share = static_cast<double>(some.numel()) / static_cast<double>(all);
    const auto part = problem.mean_loss(data::Split::kTrain, some) * share;
    part.backward();
    sum += part.item<double>();
  }
  return sum;
}

double add_gradients_or_say_what_fits(Problem& problem,
                                      const at::Tensor& rows,
                                      std::int64_t micro_batch,
                                      session::Session& session) {
  const auto whole = attempt(problem, rows, micro_batch);
  if (whole.loss) return *whole.loss;
  const auto asked = micro_batch > 0 ? std::min(micro_batch, rows.numel()) : rows.numel();
  std::int64_t fits = 0;
  for (auto size = asked / 2; size >= 1 && fits == 0; size /= 2) {
    session.passes()->clear();
    problem.model().zero_grad();
    if (attempt(problem, rows, size).loss) fits = size;
  }
  session.passes()->clear();
  throw Error(fmt::format(
      "a pass of {} {} does not fit into memory ({}); {}",
      asked,
      problem.unit(),
      whole.why,
      fits > 0
          ? fmt::format("passes of {} do: start the run with train.micro-batch = {}", fits, fits)
          : fmt::format("not even one of the {} does: a smaller model is needed", problem.unit())));
}

}  // namespace kappascope::train
