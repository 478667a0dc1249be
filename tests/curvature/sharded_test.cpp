// SPDX-License-Identifier: Apache-2.0
#include "curvature/sharded.h"

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;

namespace {

constexpr int64_t kSize = 7;
/// Entries of each process; the last one holds none.
constexpr std::array<int64_t, 3> kShards = {3, 4, 0};
constexpr std::array<int64_t, 3> kBegins = {0, 3, 7};
constexpr int kProcesses = 3;

/// Without random numbers: threads share their generator.
at::Tensor rows_of(int rank) {
  return torch::sin(torch::arange(5 * kSize, torch::kDouble) * (0.9 + 0.7 * rank)).view({5, kSize});
}
at::Tensor start_values() {
  return torch::cos(torch::arange(kSize, torch::kDouble));
}
at::Tensor loss_of(const at::Tensor& theta, int rank) {
  return torch::softplus(rows_of(rank).matmul(theta)).square().mean();
}

at::Tensor whole_gradient(const at::Tensor& theta) {
  at::Tensor mean = torch::zeros({}, torch::kDouble);
  for (int rank = 0; rank < kProcesses; ++rank) mean = mean + loss_of(theta, rank) / kProcesses;
  return torch::autograd::grad({mean}, {theta}, {}, true, true)[0];
}

/// The exact Hessian of the mean of the processes' losses.
at::Tensor whole_hessian() {
  const auto theta = start_values().requires_grad_();
  const auto gradient = whole_gradient(theta);
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < kSize; ++i)
    rows.push_back(torch::autograd::grad({gradient[i]}, {theta}, {}, true)[0]);
  return torch::stack(rows);
}

/// What one process does as FSDP would: parameters come together for a pass, gradients are averaged
/// and parted.
class Process {
 public:
  explicit Process(tensor::Group& group)
      : group_(group),
        begin_(kBegins[at(group.rank())]),
        shard_(start_values().narrow(0, begin_, kShards[at(group.rank())]).clone()) {}

  [[nodiscard]] curvature::ShardedGradient gradient() {
    auto whole = torch::zeros({kSize}, torch::kDouble);
    whole.narrow(0, begin_, shard_.numel()).copy_(shard_);
    group_.add_up(whole);
    whole.requires_grad_();
    torch::AutoGradMode grad(true);
    const auto loss = loss_of(whole, group_.rank()) * factor(calls_++);
    auto mean = torch::autograd::grad({loss}, {whole})[0] / kProcesses;
    group_.add_up(mean);
    return {loss, mean.narrow(0, begin_, shard_.numel()).clone()};
  }
  [[nodiscard]] std::unique_ptr<curvature::CurvatureOperator> hessian() {
    return curvature::sharded_hessian([this] { return gradient(); }, {{"shard", shard_}}, &group_);
  }
  [[nodiscard]] const at::Tensor& shard() const { return shard_; }
  [[nodiscard]] at::Tensor part_of(const at::Tensor& whole) const {
    return whole.narrow(-1, begin_, shard_.numel());
  }

  std::function<double(int call)> factor = [](int) { return 1.0; };

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  tensor::Group& group_;
  int64_t begin_;
  at::Tensor shard_;
  int calls_ = 0;
};

}  // namespace

TEST_CASE("a sharded product is the part of the whole one, within its noise") {
  const auto exact = whole_hessian();
  const double norm = at::linalg_matrix_norm(exact, 2).item<double>();
  const auto v = torch::linspace(-1, 2, kSize, torch::kDouble);
  const auto wanted = exact.mv(v);
  std::vector<at::Tensor> products(kProcesses), shards(kProcesses);
  std::vector<double> noises(kProcesses);
  std::array<int64_t, kProcesses> sizes{};
  std::atomic<int> shared = 0;
  testing::in_threads(kProcesses, [&](const auto& group) {
    Process process(*group);
    const auto op = process.hessian();
    const auto rank = static_cast<std::size_t>(group->rank());
    sizes[rank] = op->size();
    shared += op->shared_with() == group.get() ? 1 : 0;
    products[rank] = op->apply(process.part_of(v));
    shards[rank] = process.shard();
    noises[rank] = op->product_noise();
  });
  const auto error = (torch::cat(products) - wanted).norm().item<double>();
  CHECK(sizes == kShards);
  CHECK(shared == kProcesses);
  CHECK(noises[1] == noises[0]);
  CHECK(noises[0] < 1e-8);
  CHECK(error <= noises[0] * norm * v.norm().item<double>());
  CHECK(error > 0);  // a difference, not a derivative
  // The parameters are back to the last bit.
  CHECK(torch::equal(torch::cat(shards), start_values()));
}

TEST_CASE("eigenpairs, density and trace of shards are those of the whole, in every process") {
  const auto exact = whole_hessian();
  const auto values = at::linalg_eigvalsh(exact).flip(0);
  std::vector<at::Tensor> found(kProcesses), vectors(kProcesses);
  std::vector<double> traces(kProcesses), density_traces(kProcesses), along(kProcesses);
  testing::in_threads(kProcesses, [&](const auto& group) {
    Process process(*group);
    const auto op = process.hessian();
    linalg::LanczosOptions options;
    options.top = 3;
    options.tolerance = 1e-7;
    options.vectors = true;
    const auto pairs = curvature::eigenpairs(*op, options);
    const auto rank = static_cast<std::size_t>(group->rank());
    if (pairs.found.status != linalg::KrylovStatus::kConverged) throw Error("did not converge");
    found[rank] = torch::from_blob(const_cast<double*>(pairs.found.eigenvalues.data()),
                                   {pairs.found.eigenvalues.size()},
                                   torch::kDouble)
                      .clone();
    vectors[rank] = pairs.vectors;
    traces[rank] = curvature::trace(*op, {.sketch = 7}).value;
    linalg::DensityOptions density;
    density.steps = kSize;
    density_traces[rank] = curvature::spectral_density(*op, density).trace;
    along[rank] = curvature::curvature_along(*op, op->gradient());
  });
  const double scale = values[0].item<double>();
  CHECK((found[0] - values.narrow(0, 0, 3)).abs().max().item<double>() <= 1e-6 * scale);
  for (const auto& others : found) CHECK(torch::equal(others, found[0]));
  // The processes' parts, side by side, are eigenvectors.
  const auto whole = torch::cat(vectors, 1);
  CHECK(torch::allclose(whole.matmul(whole.t()), torch::eye(3, torch::kDouble), 0, 1e-6));
  CHECK((whole.matmul(exact) - found[0].unsqueeze(1) * whole).abs().max().item<double>() <=
        1e-6 * scale);
  CHECK(traces[0] == Approx(exact.trace().item<double>()).epsilon(1e-6));
  CHECK(traces[2] == traces[0]);
  const auto slope = whole_gradient(start_values().requires_grad_()).detach();
  CHECK(along[0] ==
        Approx((slope.dot(exact.mv(slope)) / slope.dot(slope)).item<double>()).epsilon(1e-6));
  CHECK(along[1] == along[0]);
  CHECK(std::isfinite(density_traces[0]));
  CHECK(density_traces[1] == density_traces[0]);
}

TEST_CASE("without a group one process holds all of the vector") {
  const auto exact = whole_hessian();
  const auto theta = start_values();
  const auto op = curvature::sharded_hessian(
      [&theta]() -> curvature::ShardedGradient {
        torch::AutoGradMode grad(true);
        const auto at = theta.clone().requires_grad_();
        auto mean = (loss_of(at, 0) + loss_of(at, 1) + loss_of(at, 2)) / kProcesses;
        return {mean, torch::autograd::grad({mean}, {at})[0]};
      },
      {{"all", theta}},
      nullptr);
  const auto v = torch::ones({kSize}, torch::kDouble);
  CHECK(torch::allclose(op->apply(v), exact.mv(v), 1e-7, 1e-7));
}

TEST_CASE("a loss that fails in one process is an error in every one") {
  const auto said_by = [](const std::function<double(int)>& factor) {
    std::vector<std::string> said(kProcesses);
    testing::in_threads(kProcesses, [&](const auto& group) {
      Process process(*group);
      if (group->rank() == 1) process.factor = factor;
      try {
        static_cast<void>(process.hessian());
      } catch (const Error& error) {
        said[static_cast<std::size_t>(group->rank())] = error.what();
      }
    });
    return said;
  };
  for (const auto& text : said_by([](int call) { return call == 1 ? 1.5 : 1.0; }))
    CHECK_THAT(text, Catch::Contains("not deterministic"));
  for (const auto& text : said_by([](int) { return std::numeric_limits<double>::quiet_NaN(); }))
    CHECK_THAT(text, Catch::Contains("not finite"));
}

TEST_CASE("sharded parameters have no exact products, and no place on one host") {
  const auto theta = start_values();
  const auto gradient = [&theta]() -> curvature::ShardedGradient {
    return {theta.square().sum(), 2 * theta};
  };
  curvature::OperatorOptions options;
  options.product = curvature::ProductKind::kGraphKept;
  CHECK_THROWS_WITH(curvature::sharded_hessian(gradient, {{"all", theta}}, nullptr, options),
                    Catch::Contains("finite differences"));
  std::string said;
  testing::in_threads(1, [&](const auto& group) {
    const auto op = curvature::sharded_hessian(gradient, {{"all", theta}}, group.get());
    try {
      static_cast<void>(curvature::as_linear(*op));
    } catch (const Error& error) {
      said = error.what();
    }
  });
  CHECK_THAT(said, Catch::Contains("sharded"));
}
