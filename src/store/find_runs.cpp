// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/require.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "store/database/database.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

constexpr int kSearchDepth = 2;

/// Empty also of a store that cannot be read, which is for its reader to complain of.
std::string fact_of(const fs::path& run, const std::string& key) {
  try {
    return RunReader(run).fact(key);
  } catch (const Error&) {
    return "";
  }
}

/// What a study leaves beside its runs.
bool is_result(const fs::path& dir) {
  return fact_of(dir, "kind") == "study";
}

}  // namespace

std::vector<fs::path> find_runs(const fs::path& dir) {
  std::error_code error;
  fs::recursive_directory_iterator folder(
      dir, fs::directory_options::skip_permission_denied, error);
  require(!error, "cannot look for runs in {}: {}", dir.string(), error.message());
  const auto holds_run = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(database_file(path), ignored) && !is_result(path);
  };
  std::vector<fs::path> runs;
  if (holds_run(dir)) runs.push_back(dir);
  for (const auto end = fs::end(folder); folder != end; folder.increment(error)) {
    if (holds_run(folder->path())) runs.push_back(folder->path());
    // The top level has depth 0, so a folder two levels down has depth 1.
    if (folder.depth() + 1 >= kSearchDepth) folder.disable_recursion_pending();
  }
  require(!error, "cannot look for runs in {}: {}", dir.string(), error.message());
  std::sort(runs.begin(), runs.end());
  return runs;
}

bool is_archived(const fs::path& run) {
  return !fact_of(run, kArchived).empty();
}

std::vector<fs::path> runs_at(const std::vector<fs::path>& places) {
  std::vector<fs::path> runs;
  for (const auto& place : places) {
    std::error_code ignored;
    const bool is_folder =
        fs::is_directory(place, ignored) && !fs::exists(database_file(place), ignored);
    auto inside = is_folder ? find_runs(place) : std::vector<fs::path>();
    std::erase_if(inside, is_archived);
    for (const auto& run : inside.empty() ? std::vector{place} : inside)
      if (std::ranges::find(runs, run) == runs.end()) runs.push_back(run);
  }
  return runs;
}

}  // namespace kappascope::store
