// SPDX-License-Identifier: Apache-2.0
// The SQLite database of one run: opening it safely, its schema, and its errors in words.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "kappascope/store/record.h"

namespace kappascope::store {

inline constexpr const char* kDatabaseName = "run.sqlite";
inline constexpr int kApplicationId =
    0x4B415053;  ///< "KAPS"; `file` and SQLite tell our files by it
inline constexpr int kSchemaVersion = 4;

/// The database file of the run in `dir`.
std::filesystem::path database_file(const std::filesystem::path& dir);

/// Sets one fact, keeping the place that it had; in the caller's transaction.
void put_fact(SQLite::Database& sql, const std::string& key, const std::string& value);

class Database {
 public:
  enum class Access { kRead, kWrite };

  /// Opens the existing database of `dir`, and refuses what is not a run that this program knows.
  /// A writer also gets the write-ahead log where the file system has one, and an older schema is
  /// brought up to date for it; a reader leaves the file as it is.
  Database(const std::filesystem::path& dir, Access access);

  /// Throws an Error that says what is missing unless `dir` is a directory with a database.
  static void require_there(const std::filesystem::path& dir);

  /// Makes the database of `dir` with these facts: whole under its name, or not there at all. Then
  /// it is there after a power cut too.
  static void create(const std::filesystem::path& dir, const Facts& facts);

  /// What create() makes first; a process that is killed meanwhile leaves it.
  static std::filesystem::path unfinished(const std::filesystem::path& dir);

  /// Runs body(SQLite::Database&); what SQLite throws becomes an Error that says what was being
  /// done, to which file, why it failed and what helps.
  template <typename Body>
  decltype(auto) run(std::string_view action, Body&& body) {
    try {
      return std::forward<Body>(body)(sql_);
    } catch (const SQLite::Exception& exception) {
      fail(file_, action, exception);
    }
  }

  /// After it, all that was committed is there after a power cut too.
  void make_durable();

  /// Throws Error where the name of the file leads to another one by now, or to none: what is
  /// written would be lost with the last program that has it open. All that the file holds is first
  /// copied to a new run beside the directory, which the message names.
  void require_reachable();
  /// Where the i-th copy of the run in `dir` is looked for a place.
  static std::filesystem::path rescue_place(const std::filesystem::path& dir, int i = 1);
  /// The copy's directory; empty before there is one, and where it could not be made.
  [[nodiscard]] std::filesystem::path rescued() const { return rescued_.value_or(""); }

  /// The schema version that the file has at this moment.
  static int version(SQLite::Database& sql);

 private:
  [[noreturn]] static void fail(const std::filesystem::path& file,
                                std::string_view action,
                                const SQLite::Exception& exception);
  static SQLite::Database open(const std::filesystem::path& file, Access access);
  /// Device and number of a file; zeros where there is none.
  using FileId = std::pair<std::uint64_t, std::uint64_t>;
  static FileId id_of(const std::filesystem::path& file);
  /// Where the copy is; empty where it could not be made.
  std::filesystem::path rescue();
  void check_schema();
  void choose_journal();

  std::filesystem::path file_;
  FileId id_;
  std::optional<std::filesystem::path> rescued_;  // made once
  SQLite::Database sql_;
};

}  // namespace kappascope::store
