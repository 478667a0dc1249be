#include <kappascope/nn/tapped_linear.h>
#include <kappascope/probes/attach.h>
#include <torch/torch.h>

#include <iostream>

struct Net : torch::nn::Module {
  torch::nn::Linear up{register_module("up", torch::nn::Linear(8, 32))};
  torch::nn::Linear gate{register_module("gate", torch::nn::Linear(8, 32))};
  // was torch::nn::Linear
  kappascope::nn::TappedLinear down{register_module("down", kappascope::nn::TappedLinear(32, 1))};

  torch::Tensor forward(const torch::Tensor& x) {
    return down->forward(up->forward(x) * torch::silu(gate->forward(x)));
  }
};

int main(int argc, char** argv) try {
  torch::manual_seed(1);
  Net net;
  torch::optim::Adam optimizer(net.parameters(), 1e-2);
  const auto x = torch::randn({512, 8});
  const auto y = x.narrow(1, 0, 1) * x.narrow(1, 1, 1) + 1;
  kappascope::probes::ProbeOptions options;
  options.curvature_loss = [&] { return torch::mse_loss(net.forward(x), y); };  // for the Hessian
  options.existing = kappascope::probes::ExistingRun::kNewName;  // a second start writes runs/own-2
  auto session = kappascope::probes::attach(net, argc > 1 ? argv[1] : "runs/own", options);
  for (int step = 0; step < 400; ++step) {
    const auto rows = torch::randint(512, {128});
    optimizer.zero_grad();
    const auto loss = torch::mse_loss(net.forward(x.index({rows})), y.index({rows}));
    loss.backward();
    session->step(loss.item<double>(), 1e-2);  // after backward, before the update
    optimizer.step();
  }
  session->close();
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
