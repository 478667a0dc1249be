// SPDX-License-Identifier: Apache-2.0
// The three products: graph kept, recomputed, finite difference; and what each leaves behind.
#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <stdexcept>

#include "curvature/products/graph_memory.h"
#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;
using curvature::ProductKind;

namespace {

/// Causal attention of two heads over 6 tokens, then a mean of squares; fused or written out.
struct Attention {
  at::Tensor x, weight;

  Attention() {
    torch::manual_seed(8);
    x = torch::randn({2, 6, 8}, torch::kDouble);
    weight = torch::randn({24, 8}, torch::kDouble).div_(2).requires_grad_();
  }
  [[nodiscard]] at::Tensor outputs(bool fused) const {
    const auto parts = torch::linear(x, weight).view({2, 6, 3, 2, 4}).permute({2, 0, 3, 1, 4});
    if (fused) return at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    const auto mask = torch::ones({6, 6}, torch::kBool).triu(1);
    const auto scores = parts[0].matmul(parts[1].transpose(-2, -1)) / 2;
    return torch::softmax(scores.masked_fill(mask, -1e300), -1).matmul(parts[2]);
  }
  [[nodiscard]] at::Tensor loss(bool fused) const { return outputs(fused).pow(3).mean(); }
  [[nodiscard]] curvature::NamedParameters parameters() const { return {{"weight", weight}}; }
};

}  // namespace

TEST_CASE("a product that is recomputed is that of the kept graph, without its memory") {
  auto p = small_problem();
  const auto kept = every_operator(p, ProductKind::kAutomatic);
  const auto small = every_operator(p, ProductKind::kRecomputed);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CAPTURE(i);
    CHECK(to_string(kept[i]->product_kind()) == std::string("graph kept"));
    CHECK(to_string(small[i]->product_kind()) == std::string("recomputed"));
    CHECK(small[i]->product_noise() == kept[i]->product_noise());
    const auto v = torch::randn({kept[i]->size()}, torch::kDouble);
    CHECK((small[i]->apply(v) - kept[i]->apply(v)).norm().item<double>() <=
          1e-14 * kept[i]->apply(v).norm().item<double>());
  }
  const auto held = [&](ProductKind kind) {
    const curvature::GraphMemory memory;
    const auto op = every_operator(p, kind);
    for (const auto& each : op) each->apply(torch::ones({each->size()}, torch::kDouble));
    return memory.held();
  };
  CHECK(held(ProductKind::kGraphKept) > 100'000);
  const auto gradient = 8 * kept.front()->size();  // which the Hessian keeps
  CHECK(held(ProductKind::kRecomputed) < 1'000 + gradient);
}

TEST_CASE("finite differences are right to the noise that they state") {
  auto p = in_type(small_problem(), torch::kDouble);
  const auto exact = every_operator(p, ProductKind::kGraphKept);
  for (const auto type : {torch::kDouble, torch::kFloat}) {
    auto q = in_type(p, type);
    const auto rough = every_operator(q, ProductKind::kFiniteDifference);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      CAPTURE(c10::toString(type), i);
      CHECK(to_string(rough[i]->product_kind()) == std::string("finite difference"));
      CHECK(rough[i]->product_reason() == "asked for");
      const double noise = rough[i]->product_noise();
      CHECK(product_error(*rough[i], dense(*exact[i])) < noise);
      CHECK(noise < (type == torch::kDouble ? 1e-7 : 1e-2));
      CHECK(rough[i]->apply(torch::zeros({rough[i]->size()})).abs().sum().item<double>() == 0);
    }
  }
}

TEST_CASE("finite differences in float32 keep their promise at a million parameters") {
  torch::manual_seed(5);
  testing::GatedStack model(testing::GatedStackOptions(784, 10).width(256).hidden(512).blocks(3));
  const auto x = torch::rand({64, 784});
  const auto y = torch::randint(10, {64}, torch::kLong);
  const auto loss = [&] { return torch::nn::functional::cross_entropy(model->forward(x), y); };
  const auto parameters = curvature::select_parameters(*model);
  const auto exact = curvature::hessian(loss, parameters);
  const auto rough = curvature::hessian(loss, parameters, by(ProductKind::kFiniteDifference));
  linalg::LanczosOptions options;
  options.top = 2;
  options.which = linalg::SpectrumEnd::kBoth;
  options.vectors = true;
  const auto pairs = curvature::eigenpairs(*exact, options);
  const double norm = pairs.found.eigenvalues.cwiseAbs().maxCoeff();
  const auto check = [&](const at::Tensor& v) {
    const auto error = (rough->apply(v) - exact->apply(v)).to(torch::kDouble).square().sum().sqrt();
    const auto length = v.to(torch::kDouble).square().sum().sqrt();
    CHECK((error / length).item<double>() < rough->product_noise() * norm);
  };
  CHECK(rough->product_noise() < 0.05);
  for (int i = 0; i < 4; ++i) check(pairs.vectors[i]);
  for (int i = 0; i < 3; ++i) check(torch::randn({exact->size()}));
}

TEST_CASE("fused attention, which has no second derivative, is found and differenced") {
  const Attention a;
  const auto exact = curvature::hessian([&] { return a.loss(false); }, a.parameters());
  REQUIRE(exact->product_kind() == ProductKind::kGraphKept);
  CHECK(exact->product_reason().empty());
  const auto fused = curvature::hessian([&] { return a.loss(true); }, a.parameters());
  REQUIRE(fused->product_kind() == ProductKind::kFiniteDifference);
  CHECK_THAT(fused->product_reason(), Contains("derivative") && Contains("attention"));
  CHECK(product_error(*fused, dense(*exact)) < fused->product_noise());
  CHECK(fused->product_noise() < 1e-7);
  // Lanczos sees the noise, and stops where it is reached.
  linalg::LanczosOptions options;
  options.top = 2;
  options.tolerance = 1e-12;
  const auto found = curvature::eigenpairs(*fused, options).found;
  CHECK(found.status == linalg::KrylovStatus::kConverged);
  const auto values = eigenvalues(dense(*exact));
  CHECK(std::abs(found.eigenvalues[0] - values.maxCoeff()) <= found.bounds()[0]);

  const auto rows = [&](bool of_fused) {
    return [&a, of_fused] { return a.outputs(of_fused).reshape({-1, 4}); };
  };
  const auto squared = curvature::OutputLoss::kSquared;
  const auto gauss_newton = curvature::gauss_newton(rows(true), squared, a.parameters());
  CHECK(gauss_newton->product_kind() == ProductKind::kFiniteDifference);
  CHECK(product_error(*gauss_newton,
                      dense(*curvature::gauss_newton(rows(false), squared, a.parameters()))) <
        gauss_newton->product_noise());

  for (const auto kind : {ProductKind::kGraphKept, ProductKind::kRecomputed}) {
    CHECK_THROWS_WITH(curvature::hessian([&] { return a.loss(true); }, a.parameters(), by(kind)),
                      Contains("no second derivative") && Contains("finite differences"));
  }
}

TEST_CASE("a loss that was built before has products of its graph, and no other") {
  const Attention a;
  const auto exact = a.loss(false), fused = a.loss(true);
  CHECK(curvature::hessian([&] { return exact; }, a.parameters())->product_kind() ==
        ProductKind::kGraphKept);
  const auto refused = [&](const at::Tensor& loss, ProductKind kind) {
    CHECK_THROWS_WITH(curvature::hessian([&] { return loss; }, a.parameters(), by(kind)),
                      Contains("built before") && Contains("give a function"));
  };
  refused(exact, ProductKind::kRecomputed);
  refused(exact, ProductKind::kFiniteDifference);
  refused(fused, ProductKind::kAutomatic);
}

TEST_CASE("finite differences put the parameters back bit for bit, also when the loss throws") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  std::vector<at::Tensor> before;
  for (const auto& item : parameters) before.push_back(item.second.detach().clone());
  const auto unchanged = [&] {
    bool same = true;
    for (std::size_t i = 0; i < before.size(); ++i)
      same &= torch::equal(before[i].view(torch::kLong),
                           parameters[i].second.detach().view(torch::kLong));
    return same;
  };
  const auto kept = curvature::hessian([&] { return cross_entropy(p); }, parameters);
  int left = 1000;
  const auto op = curvature::hessian(
      [&] {
        if (left-- == 0) throw std::runtime_error("the loss gave up");
        return cross_entropy(p);
      },
      parameters,
      by(ProductKind::kFiniteDifference));
  const auto v = torch::randn({op->size()}, torch::kDouble);
  op->apply(v);
  CHECK(unchanged());
  for (const int evaluations : {0, 1}) {
    left = evaluations;
    CHECK_THROWS_WITH(op->apply(v), Contains("gave up"));
    CHECK(unchanged());
  }
  // A graph that somebody else kept goes on to work.
  CHECK(kept->apply(v).isfinite().all().item<bool>());
}

TEST_CASE("finite differences find a scale that lies far below the parameters' length") {
  // 1000 parameters of one, and one whose part of the loss looks like itself within 1e-3 only, as
  // embeddings before a norm do: differences of larger steps see the tails of it.
  const auto large = torch::ones({1000}, torch::requires_grad());
  const auto small = torch::full({4}, 2e-4, torch::requires_grad());
  const auto loss = [&] {
    return 1e-6 * large.square().sum() + 1e-4 * (1 + (small / 1e-3).square()).log().sum();
  };
  const curvature::NamedParameters parameters = {{"large", large}, {"small", small}};
  const auto exact = curvature::hessian(loss, parameters);
  const auto rough = curvature::hessian(loss, parameters, by(ProductKind::kFiniteDifference));
  const auto direction = torch::cat({torch::zeros({1000}), torch::ones({4}) / 2});
  const double value = exact->apply(direction).norm().item<double>();
  REQUIRE(value > 100);
  CHECK((rough->apply(direction) - exact->apply(direction)).norm().item<double>() <
        rough->product_noise() * value);
  CHECK(rough->product_noise() < 1e-2);
}
