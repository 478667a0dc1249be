// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded into a program that writes files: what it does to the files below
// KAPPASCOPE_RECORD_ROOT is appended, in its order, to KAPPASCOPE_RECORD_LOG. disk.py reads the log
// and makes of it what a power cut could have left. A record is
//   kind (1 byte), inode (8), offset or size (8), length of the path (4), of the data (8), path,
//   data
// kinds: O a file is opened or made, W written, T cut to a size, S flushed; D a directory is
// flushed; R renamed (data: the new path), U removed, M a directory made; K a mark of the program.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

namespace {

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

ssize_t really_write(int file, const void* data, size_t size) {
  static const auto real = next<decltype(&::write)>("write");
  return real(file, data, size);
}

/// One at a time, so that the log has the order in which things happened.
std::recursive_mutex& turn() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

/// Where the log goes; -1 where nothing is recorded.
int log_file() {
  static const int file = [] {
    const char* path = std::getenv("KAPPASCOPE_RECORD_LOG");
    if (path == nullptr) return -1;
    static const auto real = next<int (*)(const char*, int, ...)>("open");
    return real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }();
  return file;
}

const std::string& root() {
  static const auto& text = *new std::string([] {
    const char* path = std::getenv("KAPPASCOPE_RECORD_ROOT");
    return path == nullptr ? std::string("?") : std::string(path) + "/";
  }());
  return text;
}

bool below_root(const std::string& path) {
  return log_file() >= 0 && path.rfind(root(), 0) == 0;
}

template <typename Number>
void append(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void note(char kind,
          std::uint64_t inode,
          std::int64_t at,
          const std::string& path,
          std::string_view data = {}) {
  std::string record(1, kind);
  append(record, inode);
  append(record, at);
  append(record, static_cast<std::uint32_t>(path.size()));
  append(record, static_cast<std::uint64_t>(data.size()));
  record += path;
  record += data;
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t more = really_write(log_file(), record.data() + done, record.size() - done);
    if (more <= 0) std::abort();
    done += static_cast<std::size_t>(more);
  }
}

struct Open {
  std::string path;  // empty where the file is none of ours
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  bool folder = false;
};

Open look(int file) {
  char link[64];
  char path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path);
  if (size <= 0) return {};
  Open out{std::string(path, static_cast<std::size_t>(size))};
  struct stat status {};
  if (!below_root(out.path + "/") || fstat(file, &status) != 0) return {};
  out.inode = status.st_ino;
  out.size = status.st_size;
  out.folder = S_ISDIR(status.st_mode);
  if (!out.folder && !S_ISREG(status.st_mode)) return {};
  return out;
}

std::string absolute(const char* path) {
  if (path[0] == '/') return path;
  char here[PATH_MAX];
  return getcwd(here, sizeof here) == nullptr ? path : std::string(here) + "/" + path;
}

void note_open(int file, bool cut) {
  if (file < 0) return;
  const int before = errno;
  const auto open = look(file);
  if (!open.path.empty() && !open.folder) note('O', open.inode, cut ? 1 : 0, open.path);
  errno = before;
}

void note_write(int file, std::int64_t at, const void* data, ssize_t size) {
  if (size <= 0) return;
  const int before = errno;
  const auto open = look(file);
  if (!open.path.empty())
    note('W',
         open.inode,
         at,
         open.path,
         {static_cast<const char*>(data), static_cast<std::size_t>(size)});
  errno = before;
}

/// Where the next write of this descriptor goes.
std::int64_t position(int file) {
  const int flags = fcntl(file, F_GETFL);
  return lseek(file, 0, (flags & O_APPEND) != 0 ? SEEK_END : SEEK_CUR);
}

}  // namespace

#define NEXT(name) static const auto real = next<decltype(&(name))>(#name)
#define IN_TURN const std::lock_guard guard(turn())

extern "C" {

/// What the program under test calls, where the library is loaded, to say what it relies on by now.
void kappascope_record_mark(const char* text) {
  IN_TURN;
  if (log_file() >= 0) note('K', 0, 0, "", text);
}

ssize_t write(int file, const void* data, size_t size) {
  if (file <= 2 || log_file() < 0) return really_write(file, data, size);
  IN_TURN;
  const auto at = position(file);
  const auto done = really_write(file, data, size);
  note_write(file, at, data, done);
  return done;
}

ssize_t writev(int file, const iovec* parts, int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return write(file, all.data(), all.size());
}

#define POSITIONED_WRITE(name)                                      \
  ssize_t name(int file, const void* data, size_t size, off_t at) { \
    NEXT(name);                                                     \
    IN_TURN;                                                        \
    const auto done = real(file, data, size, at);                   \
    note_write(file, at, data, done);                               \
    return done;                                                    \
  }
POSITIONED_WRITE(pwrite)
POSITIONED_WRITE(pwrite64)

#define SYNC(name)                                                     \
  int name(int file) {                                                 \
    NEXT(name);                                                        \
    IN_TURN;                                                           \
    const auto open = look(file);                                      \
    const int done = real(file);                                       \
    if (done == 0 && !open.path.empty())                               \
      note(open.folder ? 'D' : 'S', open.inode, open.size, open.path); \
    return done;                                                       \
  }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name)                                                           \
  int name(int file, off_t size) noexcept {                                      \
    NEXT(name);                                                                  \
    IN_TURN;                                                                     \
    const int done = real(file, size);                                           \
    const auto open = look(file);                                                \
    if (done == 0 && !open.path.empty()) note('T', open.inode, size, open.path); \
    return done;                                                                 \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define OPEN(name)                                                                   \
  int name(const char* path, int flags, ...) {                                       \
    static const auto real = next<int (*)(const char*, int, ...)>(#name);            \
    va_list more;                                                                    \
    va_start(more, flags);                                                           \
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;             \
    va_end(more);                                                                    \
    IN_TURN;                                                                         \
    const int file = real(path, flags, mode);                                        \
    if ((flags & (O_WRONLY | O_RDWR)) != 0) note_open(file, (flags & O_TRUNC) != 0); \
    return file;                                                                     \
  }
OPEN(open)
OPEN(open64)

#define FILE_OPEN(name)                                           \
  FILE* name(const char* path, const char* mode) {                \
    NEXT(name);                                                   \
    IN_TURN;                                                      \
    FILE* file = real(path, mode);                                \
    if (file != nullptr && std::strpbrk(mode, "wa+") != nullptr)  \
      note_open(fileno(file), std::strchr(mode, 'w') != nullptr); \
    return file;                                                  \
  }
FILE_OPEN(fopen)
FILE_OPEN(fopen64)

int rename(const char* from, const char* to) noexcept {
  NEXT(rename);
  IN_TURN;
  const int done = real(from, to);
  if (done == 0 && below_root(absolute(to))) note('R', 0, 0, absolute(from), absolute(to));
  return done;
}

#define REMOVE(name)                                                              \
  int name(const char* path) noexcept {                                           \
    NEXT(name);                                                                   \
    IN_TURN;                                                                      \
    const int done = real(path);                                                  \
    if (done == 0 && below_root(absolute(path))) note('U', 0, 0, absolute(path)); \
    return done;                                                                  \
  }
REMOVE(unlink)
REMOVE(remove)
REMOVE(rmdir)

int mkdir(const char* path, mode_t mode) noexcept {
  NEXT(mkdir);
  IN_TURN;
  const int done = real(path, mode);
  if (done == 0 && below_root(absolute(path))) note('M', 0, 0, absolute(path));
  return done;
}

}  // extern "C"
