// SPDX-License-Identifier: Apache-2.0
// Writes a run as long as a training of days, without training.
//
//   long_run DIR ROWS EVERY
//
// A row is a step: it holds the loss and the learning rate, and every EVERY-th one 98 series more,
// which are those of the probes on 12 layers. Then it writes one more row for every line that it
// reads, and prints when it was stored, in milliseconds since 1970; it ends with its input.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "kappascope/store/run.h"

namespace {

namespace store = kappascope::store;
constexpr int kLayers = 12;

store::Scalar scalar(const char* name,
                     const std::string& layer,
                     double value,
                     store::Status status = store::Status::kOk) {
  return {.name = name,
          .layer = layer,
          .value = value,
          .lower = 0.9 * value,
          .upper = 1.1 * value,
          .n = 4096.0,
          .n_effective = 3000.0,
          .status = status};
}

store::Snapshot row(std::int64_t step, std::int64_t every) {
  const auto t = static_cast<double>(step);
  const double wiggle = 1 + 0.05 * std::sin(0.37 * t) + 0.03 * std::sin(7.1 * t);
  const double loss = (0.3 + 2 / (1 + 1e-3 * t)) * wiggle;
  store::Snapshot out{.step = step};
  out.scalars.push_back({.name = "loss/train", .value = loss});
  out.scalars.push_back({.name = "learning_rate", .value = 1e-3 / (1 + 1e-5 * t)});
  if (step % every != 0) return out;
  out.scalars.push_back({.name = "loss/test", .value = 1.05 * loss});
  out.scalars.push_back(scalar("hessian/lambda_1", "", 20 * wiggle, store::Status::kConverged));
  for (int l = 0; l < kLayers; ++l) {
    const std::string layer = fmt::format("model.layers.{}.mlp.down_proj", l);
    const double kappa = (100 + 40 * l) * (1 + 1e-4 * t) * wiggle;
    for (const char* name : {"kappa/sigma", "kappa/second_moment", "kappa/with_bias"})
      out.scalars.push_back(scalar(name, layer, kappa, store::Status::kResolved));
    out.scalars.push_back({.name = "bias/cos", .layer = layer, .value = 0.9 - 0.1 * wiggle});
    out.scalars.push_back({.name = "bias/residual", .layer = layer, .value = 0.5 * wiggle});
    for (const char* name : {"gradvar/measured", "gradvar/derived", "gradvar/published"})
      out.scalars.push_back(scalar(name, layer, 1e-3 * wiggle / (1 + l)));
  }
  return out;
}

void run(const std::string& dir, std::int64_t rows, std::int64_t every) {
  constexpr std::size_t kTogether = 1000;
  auto writer = store::RunWriter::create(
      dir, {{"label", "long"}, {"created", "2026-01-31T12:00:00Z"}, {"device", "cpu"}});
  std::vector<store::Snapshot> pending;
  std::int64_t step = 0;
  for (; step < rows; ++step) {
    pending.push_back(row(step, every));
    if (pending.size() < kTogether && step + 1 < rows) continue;
    writer.write(pending);
    pending.clear();
  }
  writer.make_durable();
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line); ++step) {
    writer.write(row(step, every));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    fmt::print("{}\n", std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    std::fflush(stdout);
  }
  writer.set_state("finished");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    fmt::print(stderr, "usage: long_run DIR ROWS EVERY\n");
    return 2;
  }
  run(argv[1], std::stoll(argv[2]), std::stoll(argv[3]));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "long_run: error: {}\n", error.what());
  return 1;
}
