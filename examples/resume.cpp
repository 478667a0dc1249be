// SPDX-License-Identifier: Apache-2.0
// A loop of your own that is interrupted, and goes on in its run from your checkpoint.
#include <fmt/format.h>
#include <torch/torch.h>

#include "kappascope/nn/tapped_linear.h"
#include "kappascope/probes/attach.h"

using namespace kappascope;

void train_until(int64_t last) {
  torch::manual_seed(1);
  nn::TappedLinear model(16, 1);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  const auto x = torch::randn({256, 16}), y = x.square().sum(1, true);
  const bool resuming = std::filesystem::exists("model.pt");
  if (resuming) {
    torch::load(model, "model.pt");
    torch::load(optimizer, "optimizer.pt");
  }
  auto session = resuming ? probes::resume(*model, "run", "session.safetensors")
                          : probes::attach(*model, "run");
  for (auto step = session->next_step(); step < last; ++step) {
    optimizer.zero_grad();
    const auto loss = torch::mse_loss(model->forward(x), y);
    loss.backward();
    session->step(loss.item<double>());
    optimizer.step();
    if (step % 100 == 0) fmt::print("step {}: loss {:.3f}\n", step, loss.item<double>());
  }
  torch::save(model, "model.pt");
  torch::save(optimizer, "optimizer.pt");
  session->save("session.safetensors");
}  // a session that is let go of leaves its run "interrupted"

int main() try { train_until(250), train_until(500); } catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
