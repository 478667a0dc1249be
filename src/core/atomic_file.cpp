// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "core/own_files.h"
#include "core/require.h"

namespace fs = std::filesystem;

namespace kappascope {
namespace {

constexpr std::string_view kPartial = ".partial";

/// Flushes a file or, so that the names in it last, a directory.
void flush(const fs::path& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC));
  // A directory that may be written but not read cannot be flushed by anybody.
  if (file.get() < 0 && errno == EACCES && (flags & O_DIRECTORY) != 0) return;
  require(file.get() >= 0, "cannot open {}: {}", path.string(), std::strerror(errno));
  // Some file systems cannot flush a directory, and say so with EINVAL; theirs lasts anyway.
  require(::fsync(file.get()) == 0 || errno == EINVAL,
          "cannot write {} to the disk: {}",
          path.string(),
          std::strerror(errno));
}

/// A file that nobody else has made, locked as long as the object lives.
struct Temporary {
  fs::path path;
  Descriptor lock;

  Temporary(const fs::path& file, const fs::path& directory)
      : path(directory /
             fmt::format(
                 ".{}.{:08x}{}", file.filename().string(), std::random_device()(), kPartial)),
        lock(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)) {
    // No argument is made where the file is there: what throws from here on would leave it behind.
    if (lock.get() < 0)
      throw Error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
    ::flock(lock.get(), LOCK_EX | LOCK_NB);
  }
};

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Whether a regular file is there; throws where something else is.
bool regular_file_at(const fs::path& file) {
  std::error_code error;
  const auto type = fs::symlink_status(file, error).type();
  if (type == fs::file_type::not_found) return false;
  const auto* what = type == fs::file_type::directory ? "a directory"
                     : type == fs::file_type::symlink ? "a link, and may lead anywhere"
                                                      : "no regular file";
  require(type == fs::file_type::regular, "cannot write {}: it is {}", file.string(), what);
  return true;
}

}  // namespace

void write_atomically(const fs::path& file, const std::function<void(const fs::path&)>& write) {
  const auto directory = directory_of(file);
  std::error_code error;
  require(fs::is_directory(directory, error),
          "cannot write {}: there is no directory {}",
          file.string(),
          directory.string());
  regular_file_at(file);
  remove_leftovers(directory, file.filename().string() + '.');
  const Temporary temporary(file, directory);
  try {
    write(temporary.path);
    flush(temporary.path, O_NOFOLLOW);
    rename_durably(temporary.path, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary.path, ignored);
    throw;
  }
}

void make_directories(const fs::path& dir) {
  std::error_code error;
  if (fs::is_directory(dir, error)) return;
  const auto above = directory_of(dir);
  make_directories(above);
  fs::create_directory(dir, error);  // no error where another process has just made it
  if (error == std::errc::file_exists) error = std::make_error_code(std::errc::not_a_directory);
  require(!error, "cannot make the directory {}: {}", dir.string(), error.message());
  flush(above, O_DIRECTORY);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  require(!error, "cannot write {}: {}", to.string(), error.message());
  flush(directory_of(to), O_DIRECTORY);
}

void remove_leftovers(const fs::path& directory, std::string_view start) {
  const auto prefix = fmt::format(".{}", start);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kPartial)) continue;
    // That of a writer at work is locked.
    const Descriptor leftover(
        ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (leftover.get() >= 0 && ::flock(leftover.get(), LOCK_EX | LOCK_NB) == 0)
      fs::remove(entry.path(), ignored);
  }
}

void write_text_atomically(const fs::path& file, const std::string& text) {
  write_atomically(file, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    require(out.good(), "cannot write {}: {}", file.string(), std::strerror(errno));
  });
}

void replace_directory(const fs::path& made, const fs::path& dir) {
  const bool exchanged =
      ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, dir.c_str(), RENAME_EXCHANGE) == 0;
  if (exchanged) flush(directory_of(dir), O_DIRECTORY);
  std::error_code error;
  fs::remove_all(exchanged ? made : dir, error);
  require(!error, "cannot remove {}: {}", (exchanged ? made : dir).string(), error.message());
  if (!exchanged) rename_durably(made, dir);
}

void require_replaceable(const fs::path& file, std::string_view mark, bool force) {
  if (!regular_file_at(file)) return;
  std::ifstream in(file, std::ios::binary);
  std::string head(4096, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  // What cannot be read may be anything, a database too.
  require(!in.bad(), "cannot read {}: {}", file.string(), std::strerror(errno));
  head.resize(static_cast<std::size_t>(in.gcount()));
  require(!head.starts_with("SQLite format 3"),
          "{} is a database, as that of a run: an output never replaces one",
          file.string());
  require(force || head.find(mark) != std::string::npos,
          "{} is there and was not written by this command; choose another name, or pass --force "
          "to replace it",
          file.string());
}

}  // namespace kappascope
