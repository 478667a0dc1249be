// SPDX-License-Identifier: Apache-2.0
// What saves memory in training, beside the plain step: micro-batches of a quarter, recomputed
// blocks (the benchmarks' language model, 8 x 128 tokens), and logits of 256 tokens at a time (a
// head of 27,008 words, 2 x 2,048 tokens, width 768). With --memory it prints, instead of times, a
// line "name base ours" with the peak of the bytes that a forward and backward pass takes.
#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/compare.h"
#include "core/atomic_file.h"
#include "core/memory.h"
#include "core/temporary_folder.h"
#include "lab/nn/linear_cross_entropy.h"
#include "lab/train/batch_pass.h"
#include "tensor/allocations.h"

using namespace kappascope;

namespace {

struct Pair {
  std::string name;
  std::function<void()> base, ours;
  int turns;
};

train::TrainConfig language(const std::string& text) {
  train::TrainConfig config;
  config.kind = "language";
  config.data = text;
  config.width = 256;
  config.hidden = 768;
  config.blocks = 4;
  config.transformer.layout = "llama";
  config.transformer.heads = 4;
  config.context = 128;
  config.batch = 8;
  return config;
}

/// The gradient of one batch; the parameters keep theirs from pass to pass.
std::function<void()> gradient(const train::TrainConfig& config) {
  const auto task = std::make_shared<train::Task>(train::make_task(config));
  task->model().train();
  return [task] {
    const auto& own = task->config;
    train::add_gradients(
        *task->problem, torch::arange(own.batch), {.micro_batch = own.micro_batch});
  };
}

Pair of_head() {
  torch::manual_seed(1);
  const auto h = torch::randn({4096, 768}).requires_grad_();
  const auto weight = (0.02 * torch::randn({27008, 768})).requires_grad_();
  const auto targets = torch::randint(27008, {4096}, torch::kLong);
  return {
      "logits",
      [=] { torch::nn::functional::cross_entropy(torch::linear(h, weight), targets).backward(); },
      [=] { nn::linear_cross_entropy(h, weight, targets, 256).backward(); },
      1};
}

std::vector<Pair> pairs(const std::string& text) {
  const auto plain = language(text);
  auto micro = plain, again = plain, large = plain, parted = plain;
  micro.micro_batch = 2;
  again.recompute = true;
  large.batch = parted.batch = 32;
  parted.micro_batch = 8;
  const auto base = gradient(plain);
  return {{"micro_batch", base, gradient(micro), 20},
          {"micro_batch_4096", gradient(large), gradient(parted), 5},
          {"recompute", base, gradient(again), 20},
          of_head()};
}

/// Bytes at the peak of a pass, beyond what was there before.
std::int64_t peak_of(const std::function<void()>& pass) {
  pass();  // makes the gradients
  const tensor::Allocations counted;
  pass();
  return counted.peak();
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();  // as `kappascope train` does
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text.push_back(static_cast<char>('a' + i * i % 23));
  write_text_atomically(folder.path() / "text.txt", text);
  const auto all = pairs((folder.path() / "text.txt").string());
  if (argc == 2 && std::string(argv[1]) == "--memory") {
    for (const auto& [name, base, ours, turns] : all) {
      std::printf("%s %lld %lld\n",
                  name.c_str(),
                  static_cast<long long>(peak_of(base)),
                  static_cast<long long>(peak_of(ours)));
    }
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  for (const auto& [name, base, ours, turns] : all)
    benchmarks::compare("scale/" + name, turns, /*in_a_row=*/1, base, ours);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
