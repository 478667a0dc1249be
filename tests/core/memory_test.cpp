// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/temporary_folder.h"
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

TEST_CASE("the most that a process held is read from its status, and grows with what it writes") {
  const TemporaryFolder root;
  CHECK_FALSE(peak_memory(root.path()));
  fs::create_directories(root / "proc/self");
  std::ofstream(root / "proc/self/status") << "Name: x\nVmPeak: 9 kB\nVmHWM:\t  1234 kB\n";
  CHECK(peak_memory(root.path()) == 1234 * 1024);

  const auto before = peak_memory();
  if (!before) {
    WARN("not tried: this system does not say what a process held");
    return;
  }
  constexpr std::size_t kBytes = 256 << 20;
  const std::vector<char> written(static_cast<std::size_t>(*before) + kBytes, 1);
  CHECK(*peak_memory() >= *before + static_cast<std::int64_t>(kBytes));
  CHECK(written.back() == 1);
}

TEST_CASE("this machine has memory to give") {
  const auto available = available_memory();
  if (!available) {
    WARN("not tried: this system does not say what is available");
    return;
  }
  CHECK(*available > 0);
}

// A sanitizer brings an allocator of its own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
namespace {

/// Pages that the system was asked for while a block was taken, written and freed.
long pages_for(std::size_t bytes) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  {
    const std::unique_ptr<void, void (*)(void*)> block(std::malloc(bytes), std::free);
    auto* const page = static_cast<volatile char*>(block.get());
    for (std::size_t i = 0; i < bytes; i += 4096) page[i] = 1;
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

}  // namespace

TEST_CASE("freed memory stays with the process, so that the next block costs no pages") {
  constexpr std::size_t kBytes = 24 << 20, kPages = kBytes / 4096;
  CHECK(pages_for(kBytes) > 0);
  keep_freed_memory();
  static_cast<void>(pages_for(kBytes));
  CHECK(pages_for(kBytes) < static_cast<long>(kPages) / 100);
}
#endif
