// SPDX-License-Identifier: Apache-2.0
// The system calls of the shim: the C library's own, but for the call that is to fail, and the one
// at which the process is killed. Calls on the terminal's descriptors (0 to 2) are not counted, nor
// is what the C library calls by itself (the dynamic loader, FILE).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "faulty.h"

namespace {

using faulty::dies_within;
using faulty::fails;

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// A call that changes what is on the disk, or may: an instant at which a process can be killed.
void instant() {
  fails(faulty::kKill);
}

bool counts(int descriptor) {
  return descriptor > 2;
}

}  // namespace

#define NEXT(name) static const auto real = next<decltype(&(name))>(#name)

extern "C" {

ssize_t write(int file, const void* data, size_t size) {
  NEXT(write);
  if (counts(file)) {
    if (fails(faulty::kWrite)) return -1;
    if (dies_within(size)) {
      static_cast<void>(real(file, data, size / 2));
      faulty::die();
    }
  }
  return real(file, data, size);
}

ssize_t writev(int file, const iovec* parts, int count) {
  NEXT(writev);
  if (counts(file)) {
    if (fails(faulty::kWrite)) return -1;
    if (dies_within(2)) {
      static_cast<void>(real(file, parts, 1));
      faulty::die();
    }
  }
  return real(file, parts, count);
}

#define POSITIONED_WRITE(name)                                      \
  ssize_t name(int file, const void* data, size_t size, off_t at) { \
    NEXT(name);                                                     \
    if (fails(faulty::kWrite)) return -1;                           \
    if (dies_within(size)) {                                        \
      static_cast<void>(real(file, data, size / 2, at));            \
      faulty::die();                                                \
    }                                                               \
    return real(file, data, size, at);                              \
  }
POSITIONED_WRITE(pwrite)
POSITIONED_WRITE(pwrite64)

ssize_t read(int file, void* data, size_t size) {
  NEXT(read);
  return counts(file) && fails(faulty::kRead) ? -1 : real(file, data, size);
}

ssize_t readv(int file, const iovec* parts, int count) {
  NEXT(readv);
  return counts(file) && fails(faulty::kRead) ? -1 : real(file, parts, count);
}

#define POSITIONED_READ(name)                                      \
  ssize_t name(int file, void* data, size_t size, off_t at) {      \
    NEXT(name);                                                    \
    return fails(faulty::kRead) ? -1 : real(file, data, size, at); \
  }
POSITIONED_READ(pread)
POSITIONED_READ(pread64)

#define SYNC(name)                                 \
  int name(int file) {                             \
    NEXT(name);                                    \
    instant();                                     \
    return fails(faulty::kSync) ? -1 : real(file); \
  }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char* from, const char* to) noexcept {
  NEXT(rename);
  instant();
  return fails(faulty::kRename) ? -1 : real(from, to);
}

// NOLINTBEGIN(bugprone-macro-parentheses): names of functions
#define MAP(name)                                                                           \
  void* name(void* at, size_t size, int rights, int flags, int file, off_t from) noexcept { \
    NEXT(name);                                                                             \
    return fails(faulty::kMap) ? MAP_FAILED : real(at, size, rights, flags, file, from);    \
  }
MAP(mmap)
MAP(mmap64)
// NOLINTEND(bugprone-macro-parentheses)

#define OPEN(name)                                                       \
  int name(const char* path, int flags, ...) {                           \
    using Open = int (*)(const char*, int, ...);                         \
    static const auto real = next<Open>(#name);                          \
    va_list more;                                                        \
    va_start(more, flags);                                               \
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                        \
    if ((flags & (O_CREAT | O_TRUNC)) != 0) instant();                   \
    return real(path, flags, mode);                                      \
  }
OPEN(open)
OPEN(open64)

#define CHANGE(name)                    \
  int name(const char* path) noexcept { \
    NEXT(name);                         \
    instant();                          \
    return real(path);                  \
  }
CHANGE(unlink)
CHANGE(remove)

int mkdir(const char* path, mode_t mode) noexcept {
  NEXT(mkdir);
  instant();
  return real(path, mode);
}

#define TRUNCATE(name)                      \
  int name(int file, off_t size) noexcept { \
    NEXT(name);                             \
    instant();                              \
    return real(file, size);                \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

}  // extern "C"
