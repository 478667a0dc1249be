// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/attach.h"

#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <functional>
#include <sstream>
#include <utility>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/gated_stack.h"
#include "support/idx.h"

using namespace kappascope;
namespace fs = std::filesystem;

namespace {

using torch::nn::functional::cross_entropy;
using torch::nn::functional::CrossEntropyFuncOptions;

/// A model in double with its optimiser, the same in every case, and 64 rows a step.
struct Training {
  Training() {
    torch::manual_seed(3);
    model = testing::GatedStack(testing::GatedStackOptions(5, 3).hidden(8).post_gating_bias(true));
    model->to(torch::kDouble);
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(),
                                                    torch::optim::SGDOptions(0.1).momentum(0.9));
    options.every = 5;
    options.window = 3;
    options.budget = 0;
  }
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> batch(int64_t step) const {
    const auto x = torch::sin(torch::arange(64 * 5, torch::kDouble) * (1.7 + 0.1 * step));
    return {x.view({64, 5}), torch::arange(64).add(step).remainder(3)};
  }
  /// Steps up to `last`; `backward` runs the passes of one.
  void run(probes::TappedSession& session,
           int64_t last,
           const std::function<double(const at::Tensor& x, const at::Tensor& y)>& backward) {
    while (session.next_step() < last) {
      const auto [x, y] = batch(session.next_step());
      optimizer->zero_grad();
      session.step(backward(x, y));
      optimizer->step();
    }
  }
  /// A mean-reduced loss in `passes` passes.
  void run(probes::TappedSession& session, int64_t last, int64_t passes = 1) {
    run(session, last, [&](const at::Tensor& x, const at::Tensor& y) {
      double sum = 0;
      for (int64_t i = 0; i < passes; ++i) {
        const auto part = x.chunk(passes)[i], labels = y.chunk(passes)[i];
        const auto loss =
            cross_entropy(model->forward(part), labels).div(static_cast<double>(passes));
        loss.backward();
        sum += loss.item<double>();
      }
      return sum;
    });
  }

  testing::GatedStack model{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
  probes::ProbeOptions options;
};

/// Every number of two runs but times and memory; returns how many there were.
int check_same(const std::filesystem::path& a,
               const std::filesystem::path& b,
               double epsilon,
               const std::string& start = "") {
  const store::RunReader first(a), second(b);
  CHECK((first.series() == second.series()));
  int compared = 0;
  for (const auto& key : first.series()) {
    if (key.name.starts_with("cost/") || key.name.starts_with("memory/") ||
        !key.name.starts_with(start))
      continue;
    CAPTURE(key.name, key.layer);
    const auto ours = first.scalars(key), theirs = second.scalars(key);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const auto close = [&](double x, double y) {
        CHECK((x == Approx(y).epsilon(epsilon).margin(epsilon) ||
               (std::isnan(x) && std::isnan(y)) || x == y));
      };
      CHECK(ours[i].step == theirs[i].step);
      CHECK(ours[i].scalar.status == theirs[i].scalar.status);
      close(ours[i].scalar.value, theirs[i].scalar.value);
      close(ours[i].scalar.lower.value_or(0), theirs[i].scalar.lower.value_or(0));
      close(ours[i].scalar.upper.value_or(0), theirs[i].scalar.upper.value_or(0));
      ++compared;
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("a sum-reduced loss gives the gradient variance of the mean-reduced one") {
  const TemporaryFolder folder;
  Training mean, sum;
  {
    auto session = probes::attach(*mean.model, folder.path() / "mean", mean.options);
    mean.run(*session, 3);
  }
  // The same steps of the optimiser: a sum over 64 rows has 64 times the gradient.
  for (auto& group : sum.optimizer->param_groups()) group.options().set_lr(0.1 / 64);
  {
    auto session = probes::attach(*sum.model,
                                  folder.path() / "sum",
                                  sum.options,
                                  {},
                                  {.reduction = session::LossReduction::kSum});
    sum.run(*session, 3, [&](const at::Tensor& x, const at::Tensor& y) {
      const auto loss =
          cross_entropy(sum.model->forward(x), y, CrossEntropyFuncOptions().reduction(torch::kSum));
      loss.backward();
      return loss.item<double>();
    });
  }
  CHECK(check_same(folder.path() / "mean", folder.path() / "sum", 1e-9, "gradvar/") == 2 * 10);
}

TEST_CASE("four passes of a quarter of the rows are one pass of all of them") {
  const TemporaryFolder folder;
  for (const int64_t passes : {1, 4}) {
    Training training;
    auto session =
        probes::attach(*training.model, folder.path() / std::to_string(passes), training.options);
    training.run(*session, 6, passes);
  }
  // The interval of bias/* is about the mean of the first pass.
  for (const auto* series : {"loss/", "kappa/", "features/", "gradvar/"})
    CHECK(check_same(folder.path() / "1", folder.path() / "4", 1e-8, series) > 5);
  const store::RunReader run(folder.path() / "4");
  CHECK(*run.scalars({"kappa/sigma", "blocks.0.down_proj"})[0].scalar.n == 3 * 64);
}

TEST_CASE("a loop that was interrupted and goes on gives the run of one that was not") {
  const TemporaryFolder folder;
  Training whole;
  auto session = probes::attach(*whole.model, folder.path() / "whole", whole.options);
  whole.run(*session, 14);
  session->close();

  std::stringstream model, optimizer;
  {
    Training first;
    session = probes::attach(*first.model, folder.path() / "parts", first.options);
    first.run(*session, 9);  // within the window of steps 8 to 10
    torch::save(first.model, model);
    torch::save(*first.optimizer, optimizer);
    session->save(folder / "session");
    first.run(*session, 12);  // lost: an emission was among them
    session.reset();
  }
  Training second;
  torch::load(second.model, model);
  torch::load(*second.optimizer, optimizer);
  session =
      probes::resume(*second.model, folder.path() / "parts", folder / "session", second.options);
  CHECK(session->next_step() == 9);
  second.run(*session, 14);
  session->close();
  CHECK(check_same(folder.path() / "whole", folder.path() / "parts", 0) > 100);
  const store::RunReader run(folder.path() / "parts");
  CHECK(run.state() == "finished");
  CHECK(run.last_step() == 13);
}

TEST_CASE("a state that does not fit is refused before the run is touched") {
  const TemporaryFolder folder;
  Training training;
  {
    auto session = probes::attach(*training.model, folder.path() / "run", training.options);
    training.run(*session, 4);
  }
  const auto resume = [&](const fs::path& file) {
    probes::resume(*training.model, folder.path() / "run", file, training.options);
  };
  tensor::State other;
  other.set("other", torch::ones(1));
  tensor::write_state(folder / "other", other);
  CHECK_THROWS_WITH(resume(folder / "other"), Catch::Contains("holds no session"));
  CHECK_THROWS_WITH(resume(folder / "absent"), Catch::Contains("absent"));
  CHECK(store::RunReader(folder.path() / "run").last_step() == 3);
}

TEST_CASE("a probe that the saved session did not have begins with the next window") {
  const TemporaryFolder folder;
  Training training;
  {
    auto options = training.options;
    options.layer_probes.set("gradient_variance", false);
    auto session = probes::attach(*training.model, folder.path() / "run", options);
    training.run(*session, 2);  // within the window of steps 0 to 2
    session->save(folder / "session");
  }
  auto session =
      probes::resume(*training.model, folder.path() / "run", folder / "session", training.options);
  training.run(*session, 9);
  session->close();
  const store::RunReader run(folder.path() / "run");
  const auto first_step = [&](const char* series) {
    return run.scalars({series, "blocks.0.down_proj"}).at(0).step;
  };
  CHECK(first_step("kappa/sigma") == 2);
  CHECK(first_step("gradvar/measured") == 5);
}

TEST_CASE("a loop of one's own gets a run with every standard quantity") {
  const TemporaryFolder folder;
  testing::GatedStack model(
      testing::GatedStackOptions(5, 3).hidden(8).post_gating_bias(true).dropout(0.1));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const auto x = torch::randn({64, 5});
  const auto y = torch::randint(3, {64}, torch::kLong);
  probes::ProbeOptions options;
  options.every = 5;
  options.budget = 0;  // what is probed depends on step numbers alone
  options.curvature_loss = [&] {
    model->eval();
    const auto loss = torch::nn::functional::cross_entropy(model->forward(x), y);
    model->train();
    return loss;
  };
  auto session = probes::attach(*model, folder.path() / "run", options, {{"label", "mine"}});
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(model->forward(x), y);
    loss.backward();
    session->step(loss.item<double>());
    optimizer.step();
  }
  session->close();
  const store::RunReader run(folder.path() / "run");
  CHECK(run.fact("label") == "mine");
  CHECK(run.fact("parameters") == std::to_string(5 * 64 + 64 + 2 * (3 * 64 * 8 + 8) + 64 * 3 + 3));
  for (const auto* name : {"kappa/sigma",
                           "features/effective_rank",
                           "bias/residual",
                           "gradvar/measured",
                           "gradvar/derived"}) {
    CHECK_FALSE(run.scalars({name, "blocks.0.down_proj"}).empty());
  }
  CHECK_FALSE(run.scalars({"hessian/lambda_1", ""}).empty());
  CHECK_FALSE(run.scalars({"cost/total", ""}).empty());
}

TEST_CASE(
    "options that contradict each other, and a pattern that matches nothing, are said at once") {
  testing::GatedStack model(testing::GatedStackOptions(5, 3));
  probes::ProbeOptions options;
  options.window = 9;
  options.every = 5;
  CHECK_THROWS_AS(probes::standard_probes(*model, options), UsageError);
  options = {};
  options.budget = -1;
  CHECK_THROWS_AS(probes::standard_probes(*model, options), UsageError);
  options = {};
  options.curvature_loss = [] { return at::Tensor(); };
  options.parameters = "nothing.*";
  CHECK_THROWS_WITH(probes::standard_probes(*model, options), Catch::Contains("nothing.*"));
}

TEST_CASE("a directory that holds a run is refused, or another name found, as the options say") {
  const TemporaryFolder folder;
  Training training;
  const auto dir = folder / "run";
  const auto attach = [&] {
    return probes::attach(*training.model, dir, training.options)->run().dir();
  };
  CHECK(attach() == dir);
  CHECK_THROWS_WITH(attach(),
                    Catch::Contains("already holds a run") && Catch::Contains("probes::resume()") &&
                        !Catch::Contains("--"));
  training.options.existing = probes::ExistingRun::kNewName;
  CHECK(attach() == folder / "run-2");
  CHECK(attach() == folder / "run-3");
  CHECK(store::find_runs(folder.path()).size() == 3);
}
