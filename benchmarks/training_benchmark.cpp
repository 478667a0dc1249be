// SPDX-License-Identifier: Apache-2.0
// A training step (Adam) alone, with exact moments of every down-projection at every step, and with
// the standard probes at their default schedule. With an argument --memory MODEL MODE it trains
// some steps instead and prints its peak memory in KiB.
#include <sys/resource.h>
#include <torch/optim/adam.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "compare.h"
#include "core/memory.h"
#include "core/temporary_folder.h"
#include "kappascope/probes/attach.h"
#include "models.h"
#include "probes/layer_probes.h"

using namespace kappascope;
namespace fs = std::filesystem;

namespace {

fs::path scratch() {
  static const TemporaryFolder folder;
  return folder.path();
}

// One training under way; it goes on from repetition to repetition, as a schedule needs.
class Training {
 public:
  Training(const std::string& name, const std::string& mode)
      : problem_(benchmarks::problem(name)),
        optimizer_(problem_.model->parameters(), torch::optim::AdamOptions(1e-4)) {
    if (mode == "plain") return;
    const auto dir = scratch() / (name + "-" + mode);
    if (mode == "every_step") {
      constexpr int64_t kNever = 1'000'000;
      std::vector<session::ScheduledProbe> probes;
      probes.push_back({probes::make_layer_probe("features"), {kNever, kNever}});
      session_ = std::make_unique<probes::TappedSession>(
          *problem_.model, store::RunWriter::create(dir, {}), std::move(probes));
    } else {
      probes::ProbeOptions options;
      // The session takes the time of both sides for training time.
      if (mode == "default") options.budget /= 2;
      if (mode == "hessian") {
        options.curvature_loss = problem_.loss;
        options.hessian_every = 60;
      }
      session_ = probes::attach(*problem_.model, dir, options);
    }
  }

  void step() {
    optimizer_.zero_grad();
    const auto loss = problem_.loss();
    loss.backward();
    const auto value = loss.item<double>();
    if (session_) session_->step(value, 1e-4);
    optimizer_.step();
  }

 private:
  benchmarks::Problem problem_;
  torch::optim::Adam optimizer_;
  std::unique_ptr<probes::TappedSession> session_;
};

int print_memory(const std::string& model, const std::string& mode) {
  {
    Training run(model, mode);
    for (int i = 0; i < 30; ++i) run.step();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%ld\n", usage.ru_maxrss);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();  // as `kappascope train` does
  int status = 0;
  if (argc == 4 && std::string(argv[1]) == "--memory") {
    status = print_memory(argv[2], argv[3]);
  } else {
    benchmark::Initialize(&argc, argv);
    for (const std::string model : {"mlp", "lm"}) {
      for (const std::string mode : {"every_step", "default"}) {
        const auto plain = std::make_shared<Training>(model, "plain");
        const auto probed = std::make_shared<Training>(model, mode);
        benchmarks::compare(
            "training/" + model + "/" + mode,
            /*turns=*/20,
            /*in_a_row=*/1,
            [plain] { plain->step(); },
            [probed] { probed->step(); });
      }
    }
    benchmark::RunSpecifiedBenchmarks();
  }
  return status;
}
