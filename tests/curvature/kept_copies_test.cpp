// SPDX-License-Identifier: Apache-2.0
// Losses that use something which was computed from a parameter before: differences of gradients
// displace the parameter, and must not take it for flat.
#include <ATen/autocast_mode.h>
#include <torch/autograd.h>
#include <torch/nn/functional/activation.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <optional>
#include <set>
#include <string>

#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;
using curvature::ProductKind;

namespace {

/// Autocast on the host for as long as it lives, with its cache or without.
class Autocast {
 public:
  explicit Autocast(at::ScalarType type, bool cached = true)
      : before_(at::autocast::is_autocast_enabled(at::kCPU)) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, type);
    at::autocast::set_autocast_cache_enabled(cached);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, before_);
    at::autocast::set_autocast_cache_enabled(true);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool before_;
};

/// A value that was kept, with the gradient of the parameter that it was made of: what layers with
/// quantised weights do.
struct Kept : torch::autograd::Function<Kept> {
  static at::Tensor forward(torch::autograd::AutogradContext* /*ctx*/,
                            const at::Tensor& /*parameter*/,
                            const at::Tensor& kept) {
    return kept.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*ctx*/,
                                                 const torch::autograd::variable_list& outer) {
    return {outer.at(0), at::Tensor()};
  }
};

enum class Way { kGraph, kStraightThrough, kFunction };

/// A net of two layers with a norm's gain and biases, whose weights may be copies from before.
struct Net {
  std::vector<std::string> names = {"w1", "b1", "gain", "w2", "b2"};
  std::vector<at::Tensor> parameters, kept;
  at::Tensor x, labels;
  std::set<std::size_t> stale;
  Way way = Way::kGraph;

  explicit Net(at::ScalarType type, double bias = 0.3) {
    torch::manual_seed(31);
    const at::Tensor values[] = {torch::randn({8, 5}) / 2,
                                 torch::randn({8}) * bias,
                                 torch::ones({8}),
                                 torch::randn({3, 8}) / 2,
                                 torch::randn({3}) * bias};
    for (const auto& value : values) parameters.push_back(value.to(type).requires_grad_());
    x = torch::randn({40, 5}).to(type);
    labels = torch::randint(3, {40}, torch::kLong);
  }
  void keep() {
    for (const auto& parameter : parameters)
      kept.push_back(way == Way::kGraph ? parameter * 1 : parameter.detach().clone());
  }
  [[nodiscard]] at::Tensor at(std::size_t i) const {
    if (!stale.contains(i)) return parameters[i];
    if (way == Way::kGraph) return kept[i];
    if (way == Way::kFunction) return Kept::apply(parameters[i], kept[i]);
    return parameters[i] + (kept[i] - parameters[i]).detach();
  }
  [[nodiscard]] at::Tensor outputs() const {
    const auto hidden = torch::silu(torch::linear(x, at(0), at(1)));
    return torch::linear(hidden * at(2), at(3), at(4));
  }
  [[nodiscard]] at::Tensor loss() const { return torch::cross_entropy_loss(outputs(), labels); }
  [[nodiscard]] curvature::NamedParameters named() const {
    curvature::NamedParameters all;
    for (std::size_t i = 0; i < names.size(); ++i) all.emplace_back(names[i], parameters[i]);
    return all;
  }
};

}  // namespace

TEST_CASE("products under autocast are those without its cache, wherever it stands") {
  auto p = in_type(small_problem(), torch::kFloat);
  const auto parameters = curvature::select_parameters(*p.model);
  for (const auto type : {torch::kBFloat16, torch::kHalf}) {
    for (const auto kind :
         {ProductKind::kAutomatic, ProductKind::kRecomputed, ProductKind::kFiniteDifference}) {
      const auto products = [&](bool cached, bool inside, bool filled) {
        const Autocast around(type, cached);
        if (filled) {  // casts without a graph, of a first look at the loss
          const torch::NoGradGuard no_grad;
          cross_entropy(p);
        }
        const auto within = [&](const auto& function) {
          return [&p, &function, type, cached, inside] {
            std::optional<Autocast> again;
            if (inside) again.emplace(type, cached);
            return function(p);
          };
        };
        const auto outputs = [](Problem& of) { return of.model->forward(of.x); };
        std::vector<at::Tensor> all;
        const auto v = torch::ones({curvature::hessian(within(cross_entropy), parameters)->size()});
        all.push_back(curvature::hessian(within(cross_entropy), parameters, by(kind))->apply(v));
        all.push_back(curvature::gauss_newton(
                          within(outputs), curvature::OutputLoss::kSquared, parameters, by(kind))
                          ->apply(v));
        all.push_back(
            curvature::empirical_fisher(within(row_losses), parameters, by(kind))->apply(v));
        return all;
      };
      const auto want = products(false, false, false);
      for (const bool inside : {false, true}) {
        for (const bool filled : {false, true}) {
          CAPTURE(c10::toString(type), curvature::to_string(kind), inside, filled);
          const auto got = products(true, inside, filled);
          for (std::size_t i = 0; i < got.size(); ++i) {
            CHECK(torch::equal(got[i], want[i]));
            CHECK(got[i].abs().max().item<double>() > 0);
          }
        }
      }
    }
  }
}

TEST_CASE("differences are refused where any parameter is replaced by a copy, and not elsewhere") {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const auto way : {Way::kGraph, Way::kStraightThrough, Way::kFunction}) {
      for (unsigned subset = 0; subset < 32; ++subset) {
        CAPTURE(c10::toString(type), static_cast<int>(way), subset);
        Net net(type);
        net.way = way;
        net.keep();
        for (std::size_t i = 0; i < 5; ++i)
          if ((subset >> i & 1U) != 0) net.stale.insert(i);
        const auto differences = by(ProductKind::kFiniteDifference);
        const auto loss = [&] { return net.loss(); };
        const auto outputs = [&] { return net.outputs(); };
        if (net.stale.empty()) {
          const auto op = curvature::hessian(loss, net.named(), differences);
          CHECK(product_error(*op, dense(*curvature::hessian(loss, net.named()))) <
                op->product_noise());
          continue;
        }
        std::string name;  // one of those that are kept
        try {
          curvature::hessian(loss, net.named(), differences);
        } catch (const Error& error) {
          for (const auto i : net.stale)
            if (std::string(error.what()).find("parameter " + net.names[i] + " ") !=
                std::string::npos)
              name = net.names[i];
          INFO(error.what());
          CHECK_FALSE(name.empty());
        }
        CHECK_FALSE(name.empty());
        CHECK_THROWS_WITH(
            curvature::gauss_newton(
                outputs, curvature::OutputLoss::kCrossEntropy, net.named(), differences),
            Contains("parameter"));
        // Leaving them out is what the message says.
        auto rest = net.named();
        std::erase_if(rest, [&](const auto& named) {
          return std::any_of(net.stale.begin(), net.stale.end(), [&](std::size_t i) {
            return net.names[i] == named.first;
          });
        });
        if (!rest.empty()) CHECK_NOTHROW(curvature::hessian(loss, rest, differences));
      }
    }
  }
}

TEST_CASE("differences under autocast are refused where a weight is a copy by hand") {
  for (const auto type : {torch::kBFloat16, torch::kHalf}) {
    for (const auto way : {Way::kGraph, Way::kFunction}) {
      for (std::size_t stale = 0; stale < 5; ++stale) {
        CAPTURE(c10::toString(type), static_cast<int>(way), stale);
        Net net(torch::kFloat);
        net.way = way;
        net.keep();
        net.stale = {stale};
        const Autocast around(type);
        CHECK_THROWS_WITH(
            curvature::hessian(
                [&] { return net.loss(); }, net.named(), by(ProductKind::kFiniteDifference)),
            Contains("parameter " + net.names[stale] + " "));
      }
    }
  }
}

TEST_CASE("products of a kept graph may use what was computed before") {
  Net net(torch::kDouble);
  const auto want = dense(*curvature::hessian([&] { return net.loss(); }, net.named()));
  net.keep();
  net.stale = {0, 3};
  const auto op = curvature::hessian([&] { return net.loss(); }, net.named());
  CHECK(product_error(*op, want) < 1e-13);
}

TEST_CASE("what is flat, or does not matter, is no copy") {
  torch::manual_seed(32);
  const auto differences = by(ProductKind::kFiniteDifference);
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    const auto x = torch::randn({30, 4}).to(type);
    const auto w = torch::randn({6, 4}).to(type).requires_grad_();
    const auto c = torch::zeros({6}, type).requires_grad_();
    const auto unused = torch::ones({2}, type).requires_grad_();
    // Linear: no curvature, and a slope.
    const auto linear =
        curvature::hessian([&] { return (torch::linear(x, w) + c).mean() + 0 * unused.sum(); },
                           {{"w", w}, {"c", c}, {"unused", unused}},
                           differences);
    CHECK(linear->apply(torch::ones({linear->size()})).abs().max().item<double>() < 1e-2);
    // A shift of all keys changes no attention: its slope is rounding alone.
    const auto key = torch::randn({6}).to(type).requires_grad_();
    const auto shifted = [&] {
      const auto q = torch::linear(x, w);
      return torch::softmax(q.mm((q + key).t()), -1).mm(q).square().mean();
    };
    const curvature::NamedParameters both = {{"w", w}, {"key", key}};
    const auto op = curvature::hessian(shifted, both, differences);
    CHECK(product_error(*op, dense(*curvature::hessian(shifted, both))) < op->product_noise());
    // Units that never fire, and a saturated gate.
    const auto down = torch::full({6}, -50, type).requires_grad_();
    const auto gate = torch::full({6}, 40, type).requires_grad_();
    CHECK_NOTHROW(curvature::hessian(
        [&] {
          return ((torch::relu(torch::linear(x, w) + down) + torch::linear(x, w)) *
                  torch::sigmoid(gate))
              .square()
              .mean();
        },
        {{"w", w}, {"down", down}, {"gate", gate}},
        differences));
  }
}

TEST_CASE(
    "a small net at its beginning, under autocast, has no parameter that is taken for a copy") {
  for (int seed = 0; seed < 30; ++seed) {
    Net net(torch::kFloat, /*bias=*/0);
    torch::manual_seed(seed);
    net.x = torch::randn({3, 5});
    net.labels = torch::randint(3, {3}, torch::kLong);
    const torch::NoGradGuard no_grad;
    for (const auto i : {0, 3}) net.parameters[i].normal_(0, 0.02);
    for (const auto type : {torch::kBFloat16, torch::kHalf}) {
      CAPTURE(seed, c10::toString(type));
      const Autocast around(type);
      CHECK_NOTHROW(curvature::hessian(
          [&] { return net.loss(); }, net.named(), by(ProductKind::kFiniteDifference)));
    }
  }
}

TEST_CASE("many parameters of different slopes are found to move, and the one that does not") {
  torch::manual_seed(33);
  for (const int64_t stale : {-1, 0, 17, 59}) {
    std::vector<at::Tensor> weights;
    curvature::NamedParameters named;
    for (int i = 0; i < 60; ++i) {
      weights.push_back((torch::randn({6, 6}) / 2.5 + torch::eye(6)).requires_grad_());
      named.emplace_back("w" + std::to_string(i), weights.back());
    }
    const auto kept = stale < 0 ? at::Tensor() : weights[stale].detach().clone();
    const auto x = torch::randn({20, 6});
    int evaluations = 0;
    const auto loss = [&] {
      ++evaluations;
      auto h = x;
      for (int64_t i = 0; i < 60; ++i) {
        const auto w = i == stale ? Kept::apply(weights[i], kept) : weights[i];
        h = torch::layer_norm(h + torch::tanh(torch::linear(h, w)), {6});
      }
      return (h * x).mean().exp();
    };
    const auto make = [&] {
      return curvature::hessian(loss, named, by(ProductKind::kFiniteDifference));
    };
    if (stale < 0) {
      CHECK_NOTHROW(make());
      CHECK(evaluations < 60);  // far fewer than one a parameter for this alone
    } else {
      CHECK_THROWS_WITH(make(), Contains("parameter w" + std::to_string(stale) + " "));
    }
  }
}
