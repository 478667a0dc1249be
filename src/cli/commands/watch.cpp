// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cli/command.h"
#include "cli/watch/server.h"
#include "core/notice.h"
#include "kappascope/core/error.h"
#include "reports/live/live_text.h"

namespace kappascope::cli {
namespace {

using Places = std::vector<std::filesystem::path>;

reports::TerminalSize terminal_size() {
  struct winsize window {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  const char* plain = std::getenv("NO_COLOR");
  return {.columns = window.ws_col,
          .rows = window.ws_row,
          .colours = plain == nullptr || *plain == '\0'};
}

/// One frame where the output is no terminal; else a new one over the last whenever something was
/// written or the window has another size, until Ctrl-C.
void show_in_terminal(const Places& places) {
  constexpr auto kPause = std::chrono::milliseconds(500);
  reports::LiveText text(places);
  text.refresh();
  if (isatty(STDOUT_FILENO) == 0) {
    fmt::print("{}", text.frame({}));
    return;
  }
  reports::TerminalSize shown{.columns = 0};
  for (;; std::this_thread::sleep_for(kPause)) {
    const auto size = terminal_size();
    const bool resized = size.columns != shown.columns || size.rows != shown.rows;
    if (!text.refresh() && !resized) continue;
    shown = size;
    std::string frame = text.frame({size.columns, size.rows - 1U, size.colours});
    // From the top left, each line cleared to its end, and what is below the last one.
    for (auto at = frame.find('\n'); at != std::string::npos; at = frame.find('\n', at + 4))
      frame.insert(at, "\x1b[K");
    fmt::print("{}\x1b[H{}\x1b[J", resized ? "\x1b[2J" : "", frame);
    std::fflush(stdout);
  }
}

void serve(const Places& places, int port) {
  WatchServer server(places, {.port = port});
  fmt::print("{}\n", server.address());
  std::fflush(stdout);
  notice("open it in a browser on this machine; Ctrl-C ends the server\n");
  server.serve();
}

}  // namespace

int run_watch(const Arguments& arguments) {
  std::vector<std::string> places;
  int port = 0;
  Usage usage;
  usage.synopsis = "kappascope watch RUN... [--port N | --terminal]";
  usage.text =
      "Serves the page of `kappascope report` to a browser on this machine, and adds to it what "
      "is\n"
      "written while it is open; zoom and choices stay. A folder stands for the runs in it (two\n"
      "levels deep), also those that begin later. Runs are only read, and none is held open: one\n"
      "whose process ends unexpectedly is said to be dead, with the time of its last row.\n\n"
      "The address is printed. It holds a token, without which nothing is answered: keep it to\n"
      "yourself. Ctrl-C ends the server, and nothing else.\n\n"
      "From another machine, forward the port that was printed and open the same address there:\n"
      "  ssh -N -L 8123:127.0.0.1:8123 HOST      (with --port 8123 here)\n"
      "Or draw loss, the learning time of the slowest layer (kappa where none was measured) and\n"
      "lambda_1 in the terminal with --terminal: a letter stands at the end of each arm's line, "
      "an\n"
      "o where an estimate is not resolved.\n\n"
      "example: kappascope watch runs";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&places)->required(), "runs, or folders of runs")(
      "port",
      po::value(&port)->default_value(0)->value_name("N"),
      "port of the loopback address; 0: any that is free")(
      "terminal",
      po::bool_switch(),
      "draw in this terminal; one picture where the output is no terminal");
  usage.positional = "run";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (port < 0 || port > 65535)
    throw UsageError(fmt::format("--port must be 0 to 65535, got {}", port));
  if (values["terminal"].as<bool>()) {
    if (!values["port"].defaulted())
      throw UsageError("--terminal serves nothing: leave --port out");
    show_in_terminal({places.begin(), places.end()});
  } else {
    serve({places.begin(), places.end()}, port);
  }
  return 0;
}

}  // namespace kappascope::cli
