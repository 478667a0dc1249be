// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace kappascope::benchmarks {

/// A benchmark of two sides in turn, `turns` times a repetition, so that a slow spell of the
/// machine meets both; each turn runs its side `in_a_row` times, as it would run alone. The
/// counters `base` and `ours` are their seconds; table.py makes the ratio. `prepare` runs before a
/// repetition, untimed: what is made there costs nothing where a filter leaves the benchmark out.
inline void compare(
    const std::string& name,
    int turns,
    int in_a_row,
    std::function<void()> base,
    std::function<void()> ours,
    std::function<void()> prepare = [] {}) {
  const std::array<std::function<void()>, 2> sides = {std::move(base), std::move(ours)};
  benchmark::RegisterBenchmark(
      name.c_str(),
      [turns, in_a_row, sides, prepare = std::move(prepare)](benchmark::State& state) {
        prepare();
        std::array<double, 2> seconds = {0, 0};
        for (auto _ : state) {
          for (std::size_t i = 0; i < static_cast<std::size_t>(2 * turns); ++i) {
            const auto side = (i + i / 2) % 2;  // base ours, ours base, …
            const auto begin = std::chrono::steady_clock::now();
            for (int run = 0; run < in_a_row; ++run) sides.at(side)();
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
            seconds.at(side) += took.count();
          }
        }
        state.counters["base"] = seconds[0];
        state.counters["ours"] = seconds[1];
      })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace kappascope::benchmarks
