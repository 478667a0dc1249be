// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include <cmath>
#include <memory>
#include <new>
#include <utility>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "lab/train/batch_pass.h"
#include "session/passes.h"
#include "support/catch.h"

using namespace kappascope;
using testing::values;

namespace {

/// A problem for whose passes there is memory up to a number of rows.
class Tight final : public train::Problem {
 public:
  Tight(std::unique_ptr<train::Problem> inner, int64_t most, bool on_host)
      : inner_(std::move(inner)), most_(most), on_host_(on_host) {}
  [[nodiscard]] torch::nn::Module& model() override { return inner_->model(); }
  [[nodiscard]] int64_t rows(data::Split split) const override { return inner_->rows(split); }
  [[nodiscard]] std::string unit() const override { return inner_->unit(); }
  [[nodiscard]] at::Tensor losses(data::Split split, const at::Tensor& rows) override {
    if (rows.numel() > most_) {
      if (!on_host_) throw std::bad_alloc();
      return torch::empty({int64_t{1} << 50}, torch::kByte);  // LibTorch's own refusal
    }
    return inner_->losses(split, rows);
  }
  [[nodiscard]] at::Tensor outputs(data::Split split, const at::Tensor& rows) override {
    return inner_->outputs(split, rows);
  }
  [[nodiscard]] std::vector<store::Scalar> evaluate(int64_t share) override {
    return inner_->evaluate(share);
  }

 private:
  std::unique_ptr<train::Problem> inner_;
  int64_t most_;
  bool on_host_;
};

}  // namespace

TEST_CASE("a batch that does not fit is named with the size that does") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  const auto rows = torch::arange(8);
  int runs = 0;
  const auto take = [&](int64_t most, int64_t micro_batch, bool on_host) {
    auto task = train::make_task(config);
    task.config.micro_batch = micro_batch;
    task.problem = std::make_unique<Tight>(std::move(task.problem), most, on_host);
    probes::TappedSession session(
        task.model(),
        store::RunWriter::create(folder.path() / std::to_string(++runs), {}),
        probes::standard_probes(task.model(), testing::all_probes(task)));
    try {
      return train::take_gradient(task, rows, session);
    } catch (const Error&) {
      CHECK(session.passes()->empty());
      throw;
    }
  };
  for (const bool on_host : {true, false}) {
    CHECK_THROWS_WITH(take(3, 0, on_host),
                      Catch::Contains("a pass of 8 windows does not fit") &&
                          Catch::Contains("train.micro-batch = 2; adam takes "));
    CHECK_THROWS_WITH(take(3, 4, on_host), Catch::Contains("a pass of 4 windows"));
    CHECK(std::isfinite(take(3, 3, on_host)));
    CHECK_THROWS_WITH(take(0, 0, on_host),
                      Catch::Contains("not even one of the windows does: train.recompute = true, "
                                      "train.logit-rows = 256, or a smaller model takes less"));
  }
  // What the optimiser holds is said only where it is not there yet.
  config.optimizer = "sgd";
  CHECK_THROWS_WITH(take(3, 0, true),
                    Catch::Contains("train.micro-batch = 2") && !Catch::Contains("takes"));
  // A batch without parts is not tried in parts, though some would fit.
  config.transformer.norm = "batch";
  CHECK_THROWS_WITH(take(3, 0, true),
                    Catch::Contains("; train.logit-rows = 256, a smaller train.batch, or a smaller "
                                    "model takes less"));
}

TEST_CASE("recomputed blocks and logits in pieces train as the whole does") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  config.bias = "post-gating";
  config.dropout = 0.1;
  config.steps = 12;
  config.eval_every = 4;
  const auto run = [&](const char* name) {
    auto task = train::make_task(config);
    auto options = testing::all_probes(task);
    options.every = 4;
    probes::TappedSession session(task.model(),
                                  store::RunWriter::create(folder.path() / name, {}),
                                  probes::standard_probes(task.model(), options));
    train::train(task, session);
    return testing::weights(task);
  };
  const auto weights = run("whole");
  config.recompute = true;
  CHECK(torch::equal(run("recomputed"), weights));
  config.recompute = false;
  config.logit_rows = 50;
  run("pieces");
  const auto gradients = [&] {
    auto task = train::make_task(config);
    train::add_gradients(*task.problem, torch::arange(8));
    std::vector<at::Tensor> all;
    for (const auto& parameter : task.model().parameters()) all.push_back(parameter.grad());
    return all;
  };
  const auto in_pieces = gradients();
  config.logit_rows = 0;
  const auto at_once = gradients();
  // Float sums over 128 tokens and 256 words in another order.
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    CHECK((in_pieces[i] - at_once[i]).abs().max().item<double>() <
          1e-5 * at_once[i].abs().max().item<double>());
  }
  const store::RunReader whole(folder.path() / "whole"), pieces(folder.path() / "pieces");
  testing::check_equal_runs(store::RunReader(folder.path() / "recomputed"), whole);
  const auto first = [](const store::RunReader& of, const char* name) {
    return values(of, {name, ""}).front();
  };
  CHECK(first(pieces, "loss/train") == Approx(first(whole, "loss/train")).epsilon(1e-6));
  CHECK(first(pieces, "gradient_norm") == Approx(first(whole, "gradient_norm")).epsilon(1e-5));
  CHECK(values(pieces, {"loss/test", ""}).back() ==
        Approx(values(whole, {"loss/test", ""}).back()).epsilon(1e-3));
}
