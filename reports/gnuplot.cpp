// SPDX-License-Identifier: Apache-2.0
// Runs gnuplot, once a figure, without a shell in between.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "kappascope/core/require.h"
#include "kappascope/core/temporary_folder.h"
#include "kappascope/reports/report.h"
#include "reports/gnuplot/script.h"

namespace kappascope::reports {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// What gnuplot complained about, on one line.
std::string complaint(const fs::path& file) {
  std::string text = read_file(file);
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "no message" : text.substr(begin, 400);
}

/// gnuplot's exit status; 127 when there is no gnuplot on the PATH.
int run_gnuplot(const fs::path& script, const fs::path& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(
      &actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::string program = "gnuplot";
  std::string no_settings = "-d";  // the user's own ~/.gnuplot must not change a figure
  std::string file = script.string();
  const std::array<char*, 4> arguments = {program.data(), no_settings.data(), file.data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return 127;
  require(error == 0, "gnuplot cannot be started: {}", std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    require(errno == EINTR, "gnuplot was lost: {}", std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char* extension(FigureFormat format) {
  switch (format) {
    case FigureFormat::kSvg:
      return ".svg";
    case FigureFormat::kPdf:
      return ".pdf";
    case FigureFormat::kPng:
      return ".png";
  }
  return "";
}

}  // namespace

std::vector<fs::path> write_figures(const std::vector<fs::path>& runs,
                                    const fs::path& dir,
                                    FigureFormat format) {
  const std::vector<Arm> arms = read_arms(runs);
  std::error_code error;
  fs::create_directories(dir, error);
  require(!error, "cannot make the folder {}: {}", dir.string(), error.message());
  const TemporaryFolder scratch;
  const fs::path script = scratch.path() / "figure.gp";
  const fs::path messages = scratch.path() / "messages.txt";
  std::vector<fs::path> files;
  for (const Figure& figure : build_figures(arms)) {
    if (figure.panels.empty()) continue;
    const fs::path file = dir / (figure.id + extension(format));
    const fs::path drawn = scratch.path() / file.filename();
    std::ofstream(script, std::ios::binary) << gnuplot_script(arms, figure, format, drawn);
    const int status = run_gnuplot(script, messages);
    require(status != 127, "gnuplot was not found: install it with apt-get install gnuplot-nox");
    require(status == 0 && fs::exists(drawn, error) && fs::file_size(drawn, error) > 0,
            "gnuplot could not draw {} (exit {}): {}",
            figure.id,
            status,
            complaint(messages));
    fs::copy_file(drawn, file, fs::copy_options::overwrite_existing, error);
    require(!error, "cannot write {}: {}", file.string(), error.message());
    files.push_back(file);
  }
  return files;
}

}  // namespace kappascope::reports
