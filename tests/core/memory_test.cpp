// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/memory.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kappascope/core/temporary_folder.h"
#include "support/catch.h"

using namespace kappascope;
namespace fs = std::filesystem;

TEST_CASE("what is available is the least of what the machine and each control group leave") {
  const TemporaryFolder root;
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  CHECK_FALSE(available_memory(root.path()));
  write("proc/meminfo",
        "MemTotal: 9000 kB\nMemFree: 1 kB\nMemAvailable:    4000 kB\nBuffers: 2 kB\n");
  CHECK(available_memory(root.path()) == 4000 * 1024);
  write("proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
  CHECK(available_memory(root.path()) == 4000 * 1024);
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "500\n");
  CHECK(available_memory(root.path()) == 4000 * 1024);
  write("sys/fs/cgroup/outer/memory.max", "3000000\n");
  write("sys/fs/cgroup/outer/memory.current", "1000000\n");
  CHECK(available_memory(root.path()) == 2'000'000);
  write("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 300000\nactive_file 7\n");
  CHECK(available_memory(root.path()) == 2'300'000);
  write("sys/fs/cgroup/outer/memory.current", "9000000\n");
  CHECK(available_memory(root.path()) == 0);
  fs::remove(root / "proc/meminfo");
  CHECK(available_memory(root.path()) == 0);
}

TEST_CASE("this machine has memory to give") {
  const auto available = available_memory();
  if (!available) {
    WARN("not tried: this system does not say what is available");
    return;
  }
  CHECK(*available > 0);
}

TEST_CASE("the peak counts what was held and let go, until it is forgotten") {
  const auto before = resident_memory();
  if (!before || !forget_peak_memory()) {
    WARN("not tried: this system does not say what a process holds");
    return;
  }
  constexpr std::size_t kBytes = 64 << 20;
  {
    std::vector<char> held(kBytes);
    std::fill(held.begin(), held.end(), char{1});
    CHECK(resident_memory()->now >= before->now + static_cast<std::int64_t>(kBytes * 9 / 10));
  }
  const auto after = *resident_memory();
  CHECK(after.peak >= before->now + static_cast<std::int64_t>(kBytes * 9 / 10));
#ifdef __SANITIZE_ADDRESS__
  return;  // what was let go stays in its quarantine
#endif
  REQUIRE(forget_peak_memory());
  CHECK(resident_memory()->peak < after.peak - static_cast<std::int64_t>(kBytes / 2));
}
