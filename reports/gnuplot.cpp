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
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/atomic_file.h"
#include "core/names.h"
#include "core/require.h"
#include "core/temporary_folder.h"
#include "kappascope/reports/report.h"
#include "reports/gnuplot/script.h"
#include "reports/runs/groups.h"

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
  return name_in<FigureFormat::kPng>(std::array{".svg", ".pdf", ".png"}, format);
}

/// The list of figures in a folder, which says what may be replaced there.
constexpr const char *kList = "figures.json", *kListed = "figures", *kListMark = "\"figures\"";

std::set<std::string> listed_in(const fs::path& dir) {
  const auto json = nlohmann::json::parse(read_file(dir / kList), nullptr, false);
  if (!json.is_object() || !json.contains(kListed) || !json[kListed].is_array()) return {};
  std::set<std::string> names;
  for (const auto& name : json[kListed]) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  return names;
}

void draw(const std::vector<Arm>& arms,
          const Figure& figure,
          FigureFormat format,
          const fs::path& drawn) {
  const TemporaryFolder scratch;
  const fs::path script = scratch / "figure.gp", messages = scratch / "messages.txt";
  write_text_atomically(script, gnuplot_script(arms, figure, format, drawn));
  const int status = run_gnuplot(script, messages);
  require(status != 127, "gnuplot was not found: install it with apt-get install gnuplot-nox");
  std::error_code error;
  require(status == 0 && fs::file_size(drawn, error) > 0 && !error,
          "gnuplot could not draw {} (exit {}): {}",
          figure.id,
          status,
          complaint(messages));
}

}  // namespace

std::vector<fs::path> write_figures(const std::vector<fs::path>& places,
                                    const fs::path& dir,
                                    FigureFormat format,
                                    bool force) {
  const std::vector<Arm> runs = read_arms(store::runs_at(places));
  const Groups groups(runs);
  const std::vector<Arm>& arms = groups.arms();
  auto figures = build_figures(arms);
  std::erase_if(figures, [](const Figure& figure) { return figure.panels.empty(); });
  std::error_code error;
  fs::create_directories(dir, error);
  require(!error, "cannot make the folder {}: {}", dir.string(), error.message());
  require_replaceable(dir / kList, kListMark, force);
  auto listed = listed_in(dir);
  std::vector<fs::path> files;
  for (const auto& figure : figures) {
    files.push_back(dir / (figure.id + extension(format)));
    const auto name = files.back().filename().string();
    require(force || listed.contains(name) || !fs::exists(fs::symlink_status(files.back())),
            "{} is there and was not written by this command; choose another folder, or pass "
            "--force to replace it",
            files.back().string());
    listed.insert(name);
  }
  for (std::size_t i = 0; i < figures.size(); ++i) {
    write_atomically(files[i],
                     [&](const fs::path& temporary) { draw(arms, figures[i], format, temporary); });
  }
  write_text_atomically(dir / kList, nlohmann::json{{kListed, listed}}.dump(1) + '\n');
  return files;
}

}  // namespace kappascope::reports
