// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>

namespace kappascope {

/// A file descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

// What a program keeps in a folder of its own, which may have come from a stranger: a run, a study.
// A link, a device or a pipe in the place of one of its files would lead what is written elsewhere,
// or wait for ever. They are asked for by lstat, so another user who can write the folder meanwhile
// is not held off.

/// A label as the name of a folder: no spaces and slashes, so that it can be typed back, and no dot
/// in front, which would hide it or, as "..", lead elsewhere.
std::string folder_name(std::string label);

/// `folder` / `inside`, where a regular file may be read or written: Error where that, or a folder
/// between, is a link, or where something else than a regular file has the name. It need not be
/// there.
std::filesystem::path own_file(const std::filesystem::path& folder,
                               const std::filesystem::path& inside);

/// The same where others will write to it: it must have no second name either, which could be a
/// file elsewhere.
std::filesystem::path own_file_to_write(const std::filesystem::path& folder,
                                        const std::filesystem::path& inside);

/// Whether the file has another name, which may be anywhere; not where it cannot be asked for.
bool has_second_name(const std::filesystem::path& path);

/// The same as own_file() for a folder within.
std::filesystem::path own_folder(const std::filesystem::path& folder,
                                 const std::filesystem::path& inside);

/// Opens own_file(), with `flags` of open(2); its number is negative where that fails, with errno.
/// One that is to be written must have no second name: Error.
Descriptor open_own_file(const std::filesystem::path& folder,
                         const std::filesystem::path& inside,
                         int flags);

/// Error where `path`, which the user named and which may be a link, is there and no regular file:
/// a pipe would be waited for.
void require_regular(const std::filesystem::path& path);

}  // namespace kappascope
