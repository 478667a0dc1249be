// SPDX-License-Identifier: Apache-2.0
#include "core/place.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace fs = std::filesystem;

namespace kappascope {
namespace {

std::string first_line(const fs::path& file) {
  std::error_code ignored;
  std::string line;
  if (fs::is_regular_file(file, ignored)) {
    std::ifstream in(file);
    std::getline(in, line);
  }
  return line;
}

/// What stands behind `word` in the first line of a file; empty where it begins otherwise.
std::string behind(std::string_view word, const fs::path& file) {
  const auto line = first_line(file);
  return line.starts_with(word) ? line.substr(word.size()) : "";
}

std::string packed_reference(const fs::path& git, const std::string& reference) {
  std::error_code ignored;
  if (!fs::is_regular_file(git / "packed-refs", ignored)) return "";
  std::ifstream in(git / "packed-refs");
  for (std::string line; std::getline(in, line);) {
    const auto blank = line.find(' ');
    if (blank != std::string::npos && line.substr(blank + 1) == reference)
      return line.substr(0, blank);
  }
  return "";
}

bool is_commit(const std::string& text) {
  constexpr std::size_t kSha1 = 40, kSha256 = 64;
  return (text.size() == kSha1 || text.size() == kSha256) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Git's folder of the repository whose top `folder` is; empty where it is none.
fs::path git_folder(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder / ".git", ignored)) return folder / ".git";
  const auto elsewhere = behind("gitdir: ", folder / ".git");  // a worktree or a submodule
  return elsewhere.empty() ? fs::path() : folder / elsewhere;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string commit_at(const fs::path& folder) {
  std::error_code ignored;
  auto top = fs::absolute(folder, ignored);
  auto git = git_folder(top);
  while (git.empty() && top.has_relative_path()) {
    top = top.parent_path();
    git = git_folder(top);
  }
  if (git.empty()) return "";
  const auto reference = behind("ref: ", git / "HEAD");
  if (reference.empty()) {
    const auto detached = first_line(git / "HEAD");
    return is_commit(detached) ? detached : "";
  }
  // Of a name out of a file, only what lies within Git's folder is read.
  if (!fs::path(reference).is_relative() || reference.find("..") != std::string::npos) return "";
  const auto shared = first_line(git / "commondir");
  const auto common = shared.empty() ? git : git / shared;
  for (const auto& found : {first_line(git / reference),
                            first_line(common / reference),
                            packed_reference(common, reference)}) {
    if (is_commit(found)) return found;
  }
  return "";
}

}  // namespace kappascope
