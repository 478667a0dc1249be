// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include "kappascope/core/require.h"

namespace fs = std::filesystem;

namespace kappascope {
namespace {

constexpr std::string_view kPartial = ".partial";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

/// Flushes a file or, so that a rename lasts, a directory.
void flush(const fs::path& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  require(file.get() >= 0, "cannot open {}: {}", path.string(), std::strerror(errno));
  // Some file systems cannot flush a directory, and say so with EINVAL; theirs lasts anyway.
  require(::fsync(file.get()) == 0 || errno == EINVAL,
          "cannot write {} to the disk: {}",
          path.string(),
          std::strerror(errno));
}

/// What the names of the temporary files of `file` begin with.
std::string temporary_prefix(const fs::path& file) {
  return '.' + file.filename().string() + '.';
}

bool is_temporary_of(const fs::path& file, const fs::path& candidate) {
  const auto name = candidate.filename().string();
  return name.starts_with(temporary_prefix(file)) && name.ends_with(kPartial);
}

/// Removes what killed writers of `file` have left; that of one at work is locked.
void remove_leftovers(const fs::path& file, const fs::path& directory) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (!is_temporary_of(file, entry.path())) continue;
    const Descriptor leftover(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (leftover.get() >= 0 && ::flock(leftover.get(), LOCK_EX | LOCK_NB) == 0)
      fs::remove(entry.path(), ignored);
  }
}

/// A file that nobody else has made, locked as long as the object lives.
struct Temporary {
  fs::path path;
  Descriptor lock;

  Temporary(const fs::path& file, const fs::path& directory)
      : path(directory /
             fmt::format("{}{:08x}{}", temporary_prefix(file), std::random_device()(), kPartial)),
        lock(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)) {
    require(lock.get() >= 0, "cannot write {}: {}", file.string(), std::strerror(errno));
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
  remove_leftovers(file, directory);
  const Temporary temporary(file, directory);
  try {
    write(temporary.path);
    flush(temporary.path, O_RDONLY);
    fs::rename(temporary.path, file, error);
    require(!error, "cannot write {}: {}", file.string(), error.message());
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary.path, ignored);
    throw;
  }
  flush(directory, O_RDONLY | O_DIRECTORY);
}

void write_text_atomically(const fs::path& file, const std::string& text) {
  write_atomically(file, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    require(out.good(), "cannot write {}: {}", file.string(), std::strerror(errno));
  });
}

void require_replaceable(const fs::path& file, std::string_view mark, bool force) {
  if (!regular_file_at(file)) return;
  std::ifstream in(file, std::ios::binary);
  std::string head(4096, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
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
