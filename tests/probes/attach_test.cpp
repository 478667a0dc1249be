// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/attach.h"

#include <torch/optim/sgd.h>

#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/core/temporary_folder.h"
#include "kappascope/nn/mlp_stack.h"
#include "support/catch.h"
#include "support/idx.h"

using namespace kappascope;

TEST_CASE("a loop of one's own gets a run with every standard quantity") {
  const TemporaryFolder folder;
  nn::MlpStack model(
      nn::MlpStackOptions(5, 3).hidden(8).bias(nn::BiasPlacement::kPostGating).dropout(0.1));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const auto x = torch::randn({64, 5});
  const auto y = torch::randint(3, {64}, torch::kLong);
  probes::ProbeOptions options;
  options.every = 5;
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
  nn::MlpStack model(nn::MlpStackOptions(5, 3));
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
