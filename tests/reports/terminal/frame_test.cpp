// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/frame.h"

#include <algorithm>
#include <sstream>

#include "core/wrap.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

std::vector<Arm> sample_arms(const TemporaryFolder& folder) {
  auto arms = read_arms({write_sample_run(folder / "a"),
                         write_sample_run(folder / "b", {.label = "bias", .bias = true})});
  for (Arm& arm : arms) arm.last_written = "2026-01-31T12:00:03Z";
  arms[1].state = "dead";
  return arms;
}

}  // namespace

TEST_CASE("no text of a run reaches the terminal as more than letters", "[frame]") {
  const TemporaryFolder folder;
  auto arms = sample_arms(folder);
  const std::string hostile = "\x1b[2J\a\n\u202E";
  arms[0].state = hostile;
  arms[0].last_written = "2026-01-31T" + hostile + "12:00:03Z";
  arms[1].state = "running";
  arms[1].last_written = hostile;
  arms[1].label = hostile;
  const auto frame = frame_of(arms, {.columns = 200, .rows = 30});
  for (const char* bad : {"\x1b", "\a", "\u202E"}) CHECK(frame.find(bad) == std::string::npos);
  // Each of the two has its line and its line of numbers before the first plot.
  const auto head = frame.substr(0, frame.find("loss (log)"));
  CHECK(std::ranges::count(head, '\n') == 5);
}

TEST_CASE("loss, kappa and sharpness of two arms look like this", "[frame]") {
  const TemporaryFolder folder;
  CHECK(frame_of(sample_arms(folder), {.columns = 72, .rows = 30}) == &R"text(
A no bias: finished, step 2,000, 12:00:03 UTC
    loss 0.326, test 0.315, λ1 72.4, κ in blocks.2 1.63×10⁴
B bias: its process is gone; last sign of life at step 2,000, 12:00:03 …
    loss 0.327, test 0.297, λ1 52.7, κ in blocks.2 7267

loss (log)
         │ ⣠⣀
       2 ┤ ⠻⣿⣷⣤⣀
         │  ⠈⠈⠛⠻⣷⣶⣄⣀
       1 ┤       ⠙⠻⢿⣿⣶⣦⣀⡀⢀
     0.5 ┤          ⠈⠉⠻⠿⢿⣿⣾⣶⣤⣦⣄⣀⡀⣀
         │               ⠁ ⠉⠛⠛⠿⡿⠿⡿⣿⣿⣷⣿⣶⣶⣿⣷⣶⣶⣾⣶⣶⣶⣶⣶⣶⣤⣶⣦⣶⣶⣶⣤⣦⣤⣦⣤⣤⣦⣦⣴⣶⣤⣶BA
     0.2 ┤                           ⠉  ⠉⠁⠙⠉⠛⠉⠙⠉⠉⠉⠉⠋⠛⠉⠛⠉⠛⠋⠉⠉⠉⠛⠙⠛⠙⠋⠋⠛⠛⠛⠁
κ of the W_d block, blocks.2.down_proj (log)
         │                                                 ⢀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀A
     10⁴ ┤                  ⢀⣀⣀⡠⠤⠤⠤⠤⠤⠔⠒⠒⠒⠒⠒⠒⠒⠒⠒⣉⣉⣉⣉⣉⣉⣉⣉⣉⣉⣉⣉⣁⣀⣀⣀⣀⣀⡠⠤⠤⠤⠤B
         │       ⣀⡠⣤⣒⣒⠭⠭⠭⠛⠛⠛⠓⠒⠒⠒⠒⠒⠊⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉
    1000 ┤    ⣠⠶⠛⠉⠉
         │   ⡴⠃
         │ ⢀⠜⠁
     100 ┤ ⠊
largest eigenvalues, against 2 / learning rate (log)
     10⁴ ┤                                                            ⡠
         │                                                       ⣀⣠⠤⠖⠋
    1000 ┤                                    ⣀⣀⣀⣀⣀⣀⣀⡤⠤⠤⠤⠤⠴⠒⠒⠒⠋⠉⠉
         │ ⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠴⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠚⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠁
     100 ┤                        ⢀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⡤⠤⠤⠴⠶⠶⠶⠶⠶⠶BA
      10 ┤   ⣀⣀⣀⣤⣤⣤⠶⠶⠶⠶⠶⠶⠛⠛⠛⠛⠛⠛⠛⠛⠛⠋⠉⠉⠉⠉⠉⠉⠉⠉⠉
         │ ⠛⠛⠉⠉⠉
          0                                                   step 2,000
)text"[1]);
}

TEST_CASE("a frame fits the terminal, whatever names runs have", "[frame]") {
  const TemporaryFolder folder;
  const std::string evil = "\x1b[2J\x1b]0;x\x07" + std::string(200, 'w') + "\n\n";
  const auto arms =
      read_arms({write_sample_run(folder / "a", {.label = evil, .layer_suffix = "\x1b[31m"})});
  for (const TerminalSize size : {TerminalSize{40, 24}, TerminalSize{200, 60}}) {
    const std::string frame = frame_of(arms, size);
    CHECK_THAT(frame, !Contains("\x1b"));
    std::istringstream lines(frame);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      CHECK(characters(line) <= size.columns);
    CHECK(count <= size.rows);
  }
  CHECK_THAT(frame_of(arms, {.columns = 80, .rows = 24, .colours = true}), Contains("\x1b[38;5;"));
}

TEST_CASE("what is not resolved is an o, what is infinite an arrow, what is missing a gap",
          "[frame]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "a", {});
    for (int step = 0; step < 5; ++step) {
      auto kappa = sample::scalar("kappa/second_moment", "x", 100, 0.1, store::Status::kResolved);
      if (step == 1) kappa.status = store::Status::kNotResolvable;
      if (step == 2) kappa.value = std::numeric_limits<double>::infinity();
      if (step == 3) kappa.value = std::nan("");
      run.write({.step = step, .scalars = {kappa}});
    }
  }
  const auto frame = frame_of(read_arms({folder / "a"}), {.columns = 30, .rows = 12});
  INFO(frame);
  CHECK(std::ranges::count(frame.substr(frame.find("(log)") + 5), 'o') == 1);
  CHECK_THAT(frame, Contains("▲") && !Contains("loss"));
}

}  // namespace kappascope::reports
