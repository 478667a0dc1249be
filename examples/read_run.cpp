// SPDX-License-Identifier: Apache-2.0
// Reads a run back: what it is, its last loss, and kappa of each layer with its interval.
#include <fmt/format.h>

#include "kappascope/store/run.h"

using namespace kappascope;

namespace {

/// A run such as `kappascope train` writes, so that this program can be tried without one.
void write_run(const char* dir) {
  auto run = store::RunWriter::create(dir, {{"label", "PGB"}});
  run.write({.step = 0,
             .scalars = {{.name = "loss/train", .value = 0.7},
                         {.name = "kappa/sigma",
                          .layer = "blocks.0.down_proj",
                          .value = 12,
                          .lower = 10,
                          .upper = 15,
                          .status = "resolved"}}});
  run.set_state("finished");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) write_run("a-run");
  const store::RunReader run(argc < 2 ? "a-run" : argv[1]);
  fmt::print("{}: {}, {} steps\n", run.fact("label"), run.state(), run.last_step() + 1);
  for (const auto& key : run.series()) {
    const auto last = run.scalars(key).back();
    if (key.name == "loss/train") fmt::print("loss {:.4f}\n", last.scalar.value);
    if (key.name != "kappa/sigma") continue;
    fmt::print("step {}, {}: kappa {:.3g}", last.step, key.layer, last.scalar.value);
    if (last.scalar.lower && last.scalar.upper)
      fmt::print(" [{:.3g}, {:.3g}]", *last.scalar.lower, *last.scalar.upper);
    fmt::print(" {}\n", last.scalar.status.text());
  }
}
