// SPDX-License-Identifier: Apache-2.0
#include "curvature/averaged.h"

#include <torch/types.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>

#include "core/notice.h"
#include "core/require.h"

namespace kappascope::curvature {
namespace {

constexpr std::int64_t kEnd = 0, kMultiply = 1, kGradient = 2;

std::int64_t send_command(std::int64_t command, tensor::Group& group) {
  auto told = torch::full({1}, command, torch::kLong);
  group.broadcast(told);
  return told.item<std::int64_t>();
}

/// What the processes must agree in; gives the largest noise.
double agree(const CurvatureOperator& mine, tensor::Group& group) {
  const auto type = static_cast<double>(mine.vectors().dtype().toScalarType());
  const auto what = torch::tensor({static_cast<double>(mine.size()), type}, torch::kDouble);
  auto first = what.clone();
  group.broadcast(first);
  auto differ = torch::full({1}, torch::equal(first, what) ? 0 : 1, torch::kLong);
  group.add_up(differ);
  require(differ.item<std::int64_t>() == 0,
          "the processes have different parameters: their curvature has no mean");
  auto noises = torch::zeros({group.size()}, torch::kDouble);
  noises[group.rank()] = mine.product_noise();
  group.add_up(noises);
  return noises.max().item<double>();
}

/// The sum of a vector of each process. One that fails is NaN, so that no process waits for it.
at::Tensor sum_over(const CurvatureOperator& mine,
                    const std::function<at::Tensor()>& vector,
                    tensor::Group& group,
                    std::exception_ptr& failed) {
  auto sum = torch::full(
      {mine.size()}, std::numeric_limits<double>::quiet_NaN(), mine.vectors().device(torch::kCPU));
  try {
    sum = vector().cpu().contiguous();
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  group.add_up(sum);
  return sum;
}

class Averaged final : public CurvatureOperator {
 public:
  Averaged(const CurvatureOperator& mine, tensor::Group& group)
      : mine_(mine), group_(group), noise_(agree(mine, group)) {}
  ~Averaged() override {
    try {
      send_command(kEnd, group_);
    } catch (const std::exception& error) {
      notice("kappascope: {}\n", error.what());
    }
  }
  Averaged(const Averaged&) = delete;
  Averaged& operator=(const Averaged&) = delete;

  [[nodiscard]] int64_t size() const override { return mine_.size(); }
  [[nodiscard]] at::TensorOptions vectors() const override { return mine_.vectors(); }
  [[nodiscard]] double product_noise() const override { return noise_; }
  [[nodiscard]] ProductKind product_kind() const override { return mine_.product_kind(); }
  [[nodiscard]] std::string product_reason() const override { return mine_.product_reason(); }
  [[nodiscard]] at::Tensor gradient() const override {
    if (!mine_.gradient().defined()) return {};
    send_command(kGradient, group_);
    return mean([this] { return mine_.gradient().clone(); });
  }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    send_command(kMultiply, group_);
    auto sent = v.to(mine_.vectors()).cpu().contiguous();
    group_.broadcast(sent);
    return mean([&] { return mine_.apply(v); });
  }

 private:
  [[nodiscard]] at::Tensor mean(const std::function<at::Tensor()>& vector) const {
    std::exception_ptr failed;
    const auto sum = sum_over(mine_, vector, group_, failed);
    if (failed) std::rethrow_exception(failed);
    return (sum / group_.size()).to(mine_.vectors());
  }

  const CurvatureOperator& mine_;
  tensor::Group& group_;
  double noise_;
};

}  // namespace

std::unique_ptr<CurvatureOperator> averaged(const CurvatureOperator& mine, tensor::Group& group) {
  return std::make_unique<Averaged>(mine, group);
}

void serve(const CurvatureOperator& mine, tensor::Group& group) {
  agree(mine, group);
  for (auto command = send_command(kEnd, group); command != kEnd;
       command = send_command(kEnd, group)) {
    std::exception_ptr failed;
    if (command == kGradient) {
      static_cast<void>(sum_over(
          mine, [&] { return mine.gradient().clone(); }, group, failed));
    } else {
      auto v = torch::empty({mine.size()}, mine.vectors().device(torch::kCPU));
      group.broadcast(v);
      static_cast<void>(sum_over(
          mine, [&] { return mine.apply(v); }, group, failed));
    }
    try {
      if (failed) std::rethrow_exception(failed);
    } catch (const std::exception& error) {
      notice("kappascope: process {} could not multiply: {}\n", group.rank(), error.what());
    }
  }
}

}  // namespace kappascope::curvature
