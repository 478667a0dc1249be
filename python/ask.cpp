// SPDX-License-Identifier: Apache-2.0
#include "python/ask.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <exception>
#include <memory>
#include <utility>

#include "curvature/averaged.h"
#include "kappascope/core/error.h"
#include "kappascope/tensor/group.h"
#include "tensor/state_bytes.h"

namespace kappascope {
namespace {

constexpr const char* kVectors = "eigenvectors";

/// This process's operator, where all processes have one.
std::unique_ptr<curvature::CurvatureOperator> operator_with(const Given& given,
                                                            tensor::Group& group) {
  std::unique_ptr<curvature::CurvatureOperator> mine;
  std::exception_ptr failed;
  try {
    mine = make_operator(given);
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  auto count = torch::full({1}, failed ? 1 : 0, torch::kLong);
  group.add_up(count);
  if (failed) std::rethrow_exception(failed);
  if (const auto others = count.item<int64_t>(); others > 0) {
    throw Error(
        fmt::format("{} of {} processes have no curvature of their loss", others, group.size()));
  }
  return mine;
}

/// Process 0's answer, or what it failed by, for all.
Result of_process_0(const Result* answer, const std::string& failure, tensor::Group& group) {
  tensor::State told;
  told.set("failure", failure);
  at::Tensor vectors;
  if (answer != nullptr) {
    const auto& [numbers, status, products, kind, certificate] = *answer;
    for (const auto& item : numbers) {
      if (item.key() == kVectors) {
        vectors = item.value();
      } else {
        told.set("numbers/" + item.key(), item.value());
      }
    }
    told.set("status", status);
    told.set("products", products);
    told.set("kind", kind);
    told.set("certificate", certificate);
    told.set("vectors", vectors.defined() ? vectors.size(0) : 0);
    told.set("size", vectors.defined() ? vectors.size(1) : 0);
    told.set("double", int64_t{vectors.defined() && vectors.scalar_type() == torch::kDouble});
  }
  const auto heard = tensor::from_bytes(group.broadcast_bytes(tensor::to_bytes(told)));
  if (const auto& text = heard.text("failure"); !text.empty()) throw Error(text);
  Numbers numbers;
  const auto all = heard.inner("numbers");
  for (const auto& [name, tensor] : all.tensors()) numbers.insert(name, tensor);
  if (const auto count = heard.integer("vectors"); count > 0) {
    // Row by row: all of them twice may be more than there is room for.
    const auto type = heard.integer("double") != 0 ? torch::kDouble : torch::kFloat;
    if (!vectors.defined()) vectors = torch::empty({count, heard.integer("size")}, type);
    for (int64_t i = 0; i < count; ++i) {
      auto row = vectors[i].cpu().contiguous();
      group.broadcast(row);
      if (!group.leads()) vectors[i].copy_(row);
    }
    numbers.insert(kVectors, vectors);
  }
  return {numbers,
          heard.text("status"),
          heard.integer("products"),
          heard.text("kind"),
          heard.text("certificate")};
}

}  // namespace

Result ask(const Given& given,
           const std::function<Result(const curvature::CurvatureOperator&)>& answer) {
  const auto group = given.group.empty() ? nullptr : tensor::process_group(given.group);
  if (given.sharded || !group) return answer(*make_operator(given, group.get()));
  const auto mine = operator_with(given, *group);
  if (!group->leads()) {
    curvature::serve(*mine, *group);
    auto result = of_process_0(nullptr, {}, *group);
    auto& numbers = std::get<Numbers>(result);
    if (const auto found = numbers.find(kVectors); found != numbers.end())
      found->setValue(found->value().to(mine->vectors().device()));
    return result;
  }
  std::optional<Result> result;
  std::exception_ptr failed;
  std::string failure;
  {
    const auto mean = curvature::averaged(*mine, *group);
    try {
      result = answer(*mean);
    } catch (const std::exception& error) {
      failed = std::current_exception();
      const auto* torchs = dynamic_cast<const c10::Error*>(&error);
      failure = torchs != nullptr ? torchs->what_without_backtrace() : error.what();
      if (failure.empty()) failure = "process 0 failed";
    }
  }
  if (failed) {
    try {
      static_cast<void>(of_process_0(nullptr, failure, *group));
    } catch (const Error&) {
      std::rethrow_exception(failed);
    }
  }
  return of_process_0(&*result, {}, *group);
}

}  // namespace kappascope
