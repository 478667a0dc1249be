// SPDX-License-Identifier: Apache-2.0
#include "core/own_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <string>

#include "core/require.h"

namespace fs = std::filesystem;

namespace kappascope {
namespace {

std::string what_is(fs::file_type type) {
  switch (type) {
    case fs::file_type::symlink:
      return "a link, and may lead anywhere";
    case fs::file_type::regular:
      return "a file";
    case fs::file_type::directory:
      return "a directory";
    default:
      return "neither a file nor a directory";
  }
}

/// Error where `path` is there and is not of this type.
void require_type(const fs::path& path, fs::file_type wanted) {
  std::error_code ignored;
  const auto type = fs::symlink_status(path, ignored).type();
  require(type == wanted || type == fs::file_type::not_found || type == fs::file_type::none,
          "cannot use {}: it is {}, where {} of this program's own belongs; remove it",
          path.string(),
          what_is(type),
          what_is(wanted));
}

void require_one_name(const fs::path& path, bool has_second) {
  require(!has_second,
          "cannot write {}: it has a second name, which may be anywhere; remove it",
          path.string());
}

fs::path own(const fs::path& folder, const fs::path& inside, fs::file_type wanted) {
  fs::path path = folder;
  for (const auto& name : inside.parent_path())
    require_type(path /= name, fs::file_type::directory);
  path /= inside.filename();
  require_type(path, wanted);
  return path;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::string folder_name(std::string label) {
  for (char& c : label) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && std::isalnum(byte) == 0 && c != '.' && c != '_' && c != '+') c = '-';
  }
  if (label.starts_with('.')) label.front() = '_';
  return label;
}

fs::path own_file(const fs::path& folder, const fs::path& inside) {
  return own(folder, inside, fs::file_type::regular);
}

fs::path own_file_to_write(const fs::path& folder, const fs::path& inside) {
  auto path = own_file(folder, inside);
  require_one_name(path, has_second_name(path));
  return path;
}

bool has_second_name(const fs::path& path) {
  std::error_code none;
  const auto names = fs::hard_link_count(path, none);
  return !none && names > 1;
}

fs::path own_folder(const fs::path& folder, const fs::path& inside) {
  return own(folder, inside, fs::file_type::directory);
}

void require_regular(const fs::path& path) {
  std::error_code ignored;
  const auto type = fs::status(path, ignored).type();
  require(type == fs::file_type::regular || type == fs::file_type::not_found ||
              type == fs::file_type::none,
          "cannot read {}: it is {}, no regular file",
          path.string(),
          what_is(type));
}

Descriptor open_own_file(const fs::path& folder, const fs::path& inside, int flags) {
  const auto path = own_file(folder, inside);
  Descriptor file(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  if (file.get() < 0) return file;
  struct stat status {};
  require(::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode),
          "cannot use {}: it is no regular file",
          path.string());
  if ((flags & O_ACCMODE) != O_RDONLY) require_one_name(path, status.st_nlink > 1);
  return file;
}

}  // namespace kappascope
