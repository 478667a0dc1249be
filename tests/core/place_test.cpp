// SPDX-License-Identifier: Apache-2.0
#include "core/place.h"

#include <cstdlib>
#include <fstream>

#include "core/temporary_folder.h"
#include "support/catch.h"

using namespace kappascope;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

const std::string kCommit(40, 'a'), kOther(40, 'b');

}  // namespace

TEST_CASE("the commit of a working folder is read in every form in which Git keeps it") {
  const TemporaryFolder folder;
  const auto& top = folder.path();
  const auto git = top / ".git";
  fs::create_directories(git);
  CHECK(commit_at(top).empty());
  write(git / "HEAD", "ref: refs/heads/main\n");
  CHECK(commit_at(top).empty());  // a branch without a commit yet
  write(git / "packed-refs",
        "# pack-refs\n" + kOther + " refs/heads/old\n" + kCommit + " refs/heads/main\n");
  CHECK(commit_at(top) == kCommit);
  write(git / "refs/heads/main", kOther + "\n");
  fs::create_directories(top / "src/deep");
  CHECK(commit_at(top / "src/deep") == kOther);
  write(git / "HEAD", kCommit + "\n");
  CHECK(commit_at(top) == kCommit);
  write(git / "worktrees/w/HEAD", "ref: refs/heads/main\n");
  write(git / "worktrees/w/commondir", "../..\n");
  write(top / "w/.git", "gitdir: " + (git / "worktrees/w").string() + "\n");
  CHECK(commit_at(top / "w") == kOther);
}

TEST_CASE("what is no repository, or leads elsewhere, has no commit") {
  const TemporaryFolder folder;
  const auto& top = folder.path();
  write(top / "secret", kCommit);
  for (const auto* head : {"ref: ../secret", "ref: /etc/hostname", "garbage", "", "ref: "}) {
    CAPTURE(head);
    write(top / ".git/HEAD", head);
    CHECK(commit_at(top).empty());
  }
  CHECK(commit_at(top / "nowhere").empty());
  CHECK_FALSE(host_name().empty());
}
