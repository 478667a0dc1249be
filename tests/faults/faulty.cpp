// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded into the program under test. With KAPPASCOPE_FAULT_SERVER in the
// environment it takes the place of main: it reads one line a run from its input, forks, and has
// the child run main with one call failing, so that LibTorch is loaded once for thousands of runs.
// A line is
//   KIND N ERRNO STAYS SECONDS FOLDER OUTPUT ARGUMENT...        (separated by tabs)
// the answer
//   STATUS HIT LIBRARY COUNT...                                 (the counts of all kinds)
// With N = 0 nothing fails, and OUTPUT.places has, for each call of KIND in turn, 8 bytes that tell
// its stack: calls of one stack have the same.
// With KAPPASCOPE_FAULT_CHILD = "KIND N ERRNO" a process that such a run starts has its own fault.
#include "faulty.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace faulty {
namespace {

using Main = int (*)(int, char**, char**);

struct Plan {
  int kind = kNone;
  long at = 0;
  int error = 0;
  bool stays = false;  // the calls after the n-th fail too, as on a disk that is full
};

/// In memory that the server shares with the child.
struct Report {
  std::array<std::atomic<long>, kKinds> counted;
  std::atomic<bool> hit;
  std::array<char, 128> library{};
  std::array<char, 2048> frames{};
};

/// In memory that the server shares with the child: a number for the stack of each call.
struct Places {
  std::atomic<std::size_t> count;
  std::array<std::uint64_t, 1 << 20> stacks;
};

struct Range {
  std::uintptr_t begin, end;
};

Plan plan;
Report own_report;
Report* report = &own_report;
Places* places = nullptr;
std::atomic<bool> in_main{false};
__attribute__((tls_model("initial-exec"))) thread_local bool within = false;
std::array<Range, 512> ranges;
std::size_t range_count = 0;
Main real_main = nullptr;

bool named(const char* path, std::initializer_list<const char*> parts) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* part : parts)
    if (std::strncmp(name, part, std::strlen(part)) == 0) return true;
  return false;
}

bool is_libtorch(const char* path) {
  return named(path,
               {"libtorch",
                "libc10",
                "libgomp",
                "libmkl",
                "libcu",
                "libnv",
                "libshm",
                "ld-linux",
                "libnccl",
                "libtriton"});
}

int add_range(dl_phdr_info* info, std::size_t /*size*/, void* /*unused*/) {
  if (!is_libtorch(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || range_count == ranges.size())
      continue;
    const auto begin = info->dlpi_addr + part.p_vaddr;
    ranges[range_count++] = {begin, begin + part.p_memsz};
  }
  return 0;
}

/// Which library made the call: the first on the stack that is none of the common ones below all.
void note_caller() {
  if (report->hit.exchange(true)) return;
  std::array<void*, 48> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::size_t written = 0;
  for (int i = 2; i < count; ++i) {
    Dl_info info{};
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    const char* slash = std::strrchr(info.dli_fname, '/');
    const char* name = slash == nullptr ? info.dli_fname : slash + 1;
    if (report->library[0] == 0 &&
        !named(name, {"libfaulty", "libstdc++", "libc.so", "libm.so", "libgcc_s"}))
      std::strncpy(report->library.data(), name, report->library.size() - 1);
    const int more = std::snprintf(report->frames.data() + written,
                                   report->frames.size() - written,
                                   " %s+%lx",
                                   name,
                                   static_cast<unsigned long>(static_cast<char*>(frames[i]) -
                                                              static_cast<char*>(info.dli_fbase)));
    if (more < 0 || written + static_cast<std::size_t>(more) >= report->frames.size()) break;
    written += static_cast<std::size_t>(more);
  }
}

/// Where the call is made: FNV-1a over the addresses on the stack.
void note_place() {
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < count; ++i)
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames[i])) * 0x100000001b3;
  const auto at = places->count++;
  if (at < places->stacks.size()) places->stacks[at] = hash;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= line.size();) {
    const auto end = std::min(line.find('\t', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

int run_main(int argc, char** argv) {
  in_main = true;
  const int status = real_main(argc, argv, environ);
  in_main = false;  // what follows are the destructors of LibTorch's own objects
  return status;
}

/// The child's side of a run: its folder, its output, and main.
int run_one(const std::vector<std::string>& words) {
  plan = {std::atoi(words[0].c_str()),
          std::atol(words[1].c_str()),
          std::atoi(words[2].c_str()),
          words[3] == "1"};
  if (plan.at < 0) {  // the fault of a process that this one starts
    const auto child = words[0] + "\t" + std::to_string(-plan.at) + "\t" + words[2];
    setenv("KAPPASCOPE_FAULT_CHILD", child.c_str(), 1);
    plan = {};
  }
  if (chdir(words[5].c_str()) != 0) _exit(99);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open((words[6] + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int err = open((words[6] + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(99);
  for (const int extra : {in, out, err})
    if (extra > 2) close(extra);
  // A vector that is never destroyed: main's arguments live until the end.
  auto& arguments = *new std::vector<std::string>(words.begin() + 7, words.end());
  auto& pointers = *new std::vector<char*>{const_cast<char*>("kappascope")};
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  alarm(static_cast<unsigned>(std::atoi(words[4].c_str())));  // a hang ends by SIGALRM
  return run_main(static_cast<int>(pointers.size()) - 1, pointers.data());
}

template <typename Shared>
Shared* shared_with_children() {
  return static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

void write_places(const std::string& output) {
  std::FILE* out = std::fopen((output + ".places").c_str(), "wb");
  if (out == nullptr) _exit(97);
  const auto count = std::min(places->count.load(), places->stacks.size());
  std::fwrite(places->stacks.data(), sizeof places->stacks[0], count, out);
  std::fclose(out);
}

/// The server. Returns in the children alone, with the exit status of main.
int serve() {
  unsetenv("KAPPASCOPE_FAULT_SERVER");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  report = shared_with_children<Report>();
  places = shared_with_children<Places>();
  std::array<void*, 2> warm{};
  backtrace(warm.data(), 2);  // loads its library
  std::array<char, 1 << 16> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), stdin) != nullptr) {
    std::string line(buffer.data());
    if (!line.empty() && line.back() == '\n') line.pop_back();
    const auto words = words_of(line);
    if (words.size() < 8) _exit(98);
    new (report) Report();
    places->count = 0;
    const pid_t child = fork();
    if (child == 0) return run_one(words);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    // What the run has started ends with it, or is told to.
    int other = 0;
    while (waitpid(-1, &other, 0) > 0 || errno == EINTR) {
    }
    if (words[0] != "0" && words[1] == "0") write_places(words[6]);
    std::printf("%d\t%d\t%s\t%s",
                status,
                report->hit.load() ? 1 : 0,
                report->library.data(),
                report->frames.data());
    for (const auto& count : report->counted) std::printf("\t%ld", count.load());
    std::printf("\n");
    std::fflush(stdout);
  }
  _exit(0);
}

int wrapped_main(int argc, char** argv, char** /*environment*/) {
  dl_iterate_phdr(add_range, nullptr);
  if (std::getenv("KAPPASCOPE_FAULT_SERVER") != nullptr) return serve();
  if (const char* child = std::getenv("KAPPASCOPE_FAULT_CHILD")) {
    const auto words = words_of(child);
    unsetenv("KAPPASCOPE_FAULT_CHILD");
    plan = {std::atoi(words[0].c_str()), std::atol(words[1].c_str()), std::atoi(words[2].c_str())};
  }
  return run_main(argc, argv);
}

}  // namespace

bool armed() {
  return in_main.load(std::memory_order_relaxed) && !within;
}

bool fails(Kind kind) {
  if (!armed()) return false;
  const long n = ++report->counted[kind];
  if (kind == plan.kind && plan.at == 0) {
    within = true;
    note_place();
    within = false;
    return false;
  }
  if (kind != plan.kind || !(n == plan.at || (plan.stays && n > plan.at))) return false;
  within = true;
  note_caller();
  within = false;
  if (kind == kKill) die();
  errno = plan.error;
  return true;
}

bool dies_within(std::size_t bytes) {
  if (plan.kind != kKill || bytes < 2) {
    fails(kKill);
    return false;
  }
  // Every other kill comes within a write, the others before a call.
  if (plan.at % 2 == 0 || report->counted[kKill] + 1 != plan.at) {
    fails(kKill);
    return false;
  }
  return armed();
}

void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

bool outside(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = 0; i < range_count; ++i)
    if (at >= ranges[i].begin && at < ranges[i].end) return true;
  return false;
}

}  // namespace faulty

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
extern "C" int __libc_start_main(faulty::Main main,
                                 int argc,
                                 char** argv,
                                 void (*init)(),
                                 void (*fini)(),
                                 void (*rtld_fini)(),
                                 void* stack_end) {
  faulty::real_main = main;
  const auto real =
      reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(faulty::wrapped_main, argc, argv, init, fini, rtld_fini, stack_end);
}
