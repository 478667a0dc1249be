// SPDX-License-Identifier: Apache-2.0
// A training loop of your own that is watched; the loss is a sum, over two passes a step.
#include "kappascope/probes/attach.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "kappascope/nn/tapped_linear.h"

using namespace kappascope;

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Linear(8, 32),
                            torch::nn::SiLU(),
                            nn::TappedLinear(32, 1));  // was torch::nn::Linear
  torch::optim::SGD optimizer(net->parameters(), 1e-4);
  const auto x = torch::randn({512, 8});
  const auto y = x.narrow(1, 0, 1) * x.narrow(1, 1, 1) + 1;

  probes::ProbeOptions options;
  options.every = 50, options.budget = 0;            // a short run: whatever probing costs
  options.existing = probes::ExistingRun::kNewName;  // a second start writes run-2
  const session::SessionOptions sums{.reduction = session::LossReduction::kSum};
  auto session = probes::attach(*net, "run", options, {{"label", "example"}}, sums);
  for (int step = 0; step < 101; ++step) {
    optimizer.zero_grad();
    double total = 0;
    for (int pass = 0; pass < 2; ++pass) {  // gradient accumulation
      const auto z = net->forward(x.chunk(2)[pass]);
      const auto loss = (z - y.chunk(2)[pass]).square().sum();
      loss.backward();
      total += loss.item<double>();
    }
    session->step(total);  // after backward, before the update
    optimizer.step();
  }
  for (const auto& scalar : session->latest())
    if (scalar.name.rfind("kappa/", 0) == 0) fmt::print("{} {:.4g}\n", scalar.name, scalar.value);
  session->close();
}
