// SPDX-License-Identifier: Apache-2.0
// An input is a kind and, by it, a database file, such a file whose rows get right checksums, or
// rows of any types that are put into an empty run with right checksums.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "fuzz/exports.h"
#include "fuzz/fuzz.h"
#include "kappascope/store/export.h"
#include "kappascope/store/run.h"
#include "store/check.h"
#include "store/rows/row_checksum.h"
#include "store/rows/totals.h"

namespace kappascope::fuzz {
namespace {

namespace fs = std::filesystem;

enum Kind : std::uint8_t { kFile, kRepaired, kRows };

/// The bytes of a run that was created and holds no rows of numbers, made once.
const std::string& empty_run() {
  static const std::string bytes = [] {
    const auto dir = scratch("store") / "empty";
    static_cast<void>(store::RunWriter::create(dir, {{"label", "fuzz"}}));
    SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE);
    sql.exec("PRAGMA journal_mode = DELETE");  // the file alone is then the run
    return get(dir / "run.sqlite");
  }();
  return bytes;
}

/// The same in pages as small as SQLite has them, with a number, and few enough bytes for a corpus.
std::string small_run() {
  const auto dir = scratch("store") / "small";
  {
    auto run = store::RunWriter::create(dir, {{"label", "fuzz"}});
    run.write({.step = 3,
               .scalars = {{.name = "loss/train", .value = 0.5}},
               .arrays = {{"user/a", "", {2}, {1, 2}}},
               .events = {{"resumed", "here"}}});
    run.write_verdict({"P-X3", "holds", "", R"({"left":"x"})"});
  }
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE);
  sql.exec("PRAGMA journal_mode = DELETE");
  sql.exec("PRAGMA page_size = 512");
  sql.exec("VACUUM");
  return get(dir / "run.sqlite");
}

/// An integer, a real number, a text, bytes, or NULL.
void bind(SQLite::Statement& statement, int place, Input& input) {
  switch (input.below(6)) {
    case 0:
      return statement.bind(place);
    case 1:
      return statement.bind(place, static_cast<std::int64_t>(input.number<std::int8_t>()));
    case 2:
      return statement.bind(place, input.number<std::int64_t>());
    case 3:
      return statement.bind(place, input.number<double>());
    case 4: {
      const auto bytes = input.text();
      return statement.bind(place, bytes.data(), static_cast<int>(bytes.size()));
    }
    default:
      return statement.bind(place, input.text());
  }
}

/// Rows of any table; those that break a rule of the schema are left out.
void add_rows(SQLite::Database& sql, Input& input) {
  struct Table {
    const store::CheckedTable& checked;
    int columns;
  };
  static constexpr std::array<Table, 6> kTables = {{{store::kScalars, 10},
                                                    {store::kArrays, 6},
                                                    {store::kFacts, 2},
                                                    {store::kSnapshots, 2},
                                                    {store::kEvents, 4},
                                                    {store::kVerdicts, 5}}};
  for (int rows = 0; rows < 20 && !input.empty(); ++rows) {
    const auto& [table, columns] = kTables[input.below(kTables.size())];
    std::string places;
    for (int i = 1; i <= columns; ++i) places += (i == 1 ? "?" : ", ?") + std::to_string(i);
    SQLite::Statement put(sql,
                          std::string("INSERT OR IGNORE INTO ") + table.name + "(" + table.columns +
                              ") VALUES(" + places + ")");
    for (int i = 1; i <= columns; ++i) bind(put, i, input);
    try {
      put.exec();
    } catch (const SQLite::Exception&) {
    }
  }
}

/// Writes the run of an input; whatever SQLite refuses stays as it is.
void write_run(const fs::path& dir, std::string_view bytes) {
  Input input(bytes);
  const auto kind = static_cast<Kind>(input.below(3));
  const auto file = dir / "run.sqlite";
  for (const auto* ending : {"-wal", "-shm", "-journal"}) fs::remove(file.string() + ending);
  put(file, kind == kRows ? empty_run() : input.rest());
  if (kind == kFile) return;
  try {
    SQLite::Database sql(file.string(), SQLite::OPEN_READWRITE);
    sql.exec("PRAGMA journal_mode = OFF");
    store::add_row_crc(sql);
    SQLite::Transaction transaction(sql);
    if (kind == kRows) add_rows(sql, input);
    for (const auto& table : store::kCountedTables)
      sql.exec(std::string("UPDATE ") + table.name + " SET crc = row_crc(" + table.columns + ")");
    sql.exec("DELETE FROM totals");
    store::fill_totals(sql);
    transaction.commit();
  } catch (const SQLite::Exception&) {
  }
}

/// What a reader tells; reading may throw Error at each series.
struct Read {
  std::size_t scalars = 0;
  bool whole = true;  ///< nothing threw
};

Read read_all(const store::RunReader& run) {
  Read read;
  const auto part = [&](auto&& body) { read.whole = accepted(body) && read.whole; };
  part([&] { drop(run.state()); });
  part([&] { drop(run.last_step()), drop(run.last_written()); });
  part([&] {
    for (const auto& [key, value] : run.facts()) drop(run.fact(key));
  });
  part([&] { drop(run.events()), drop(run.verdicts()); });
  part([&] {
    for (const auto& key : run.series()) {
      part([&] {
        const auto rows = run.scalars(key);
        read.scalars += rows.size();
        for (const auto& row : rows)
          expect(row.scalar.name == key.name && row.scalar.layer == key.layer, "a row has its key");
      });
    }
  });
  part([&] {
    for (const auto& key : run.array_series()) {
      part([&] {
        for (const auto& [step, array] : run.arrays(key)) {
          __extension__ using Wide = unsigned __int128;
          Wide count = 1;
          for (const auto extent : array.shape) {
            expect(extent >= 0, "no extent is negative");
            count = std::min<Wide>(count * static_cast<Wide>(extent), Wide{1} << 64U);
          }
          expect(count == array.data.size(), "an array has the numbers of its shape");
        }
      });
    }
  });
  return read;
}

void check_exports(const store::RunReader& run, const Read& read) {
  std::ostringstream csv, jsonl;
  if (accepted([&] { store::export_csv(run, csv); }) && read.whole)
    check_csv(csv.str(), read.scalars);
  if (accepted([&] { store::export_jsonl(run, jsonl); })) check_jsonl(jsonl.str());
  const auto file = scratch("store") / "export.npz";
  if (accepted([&] { store::export_npz(run, file); })) check_npz(file);
}

void check_run(std::string_view bytes) {
  const auto dir = scratch("store/run");
  write_run(dir, bytes);
  const auto before = get(dir / "run.sqlite");
  std::optional<store::StoreCheck> check;
  accepted([&] { check = store::check_store(dir); });
  std::optional<store::RunReader> run;
  if (!accepted([&] { run.emplace(dir); })) return;
  const auto read = read_all(*run);
  check_exports(*run, read);
  if (check && check->damage.empty()) {
    for (const auto& text : run->damaged())
      expect(false, "a run without damage has no damaged rows: " + text);
  }
  run.reset();
  expect(get(dir / "run.sqlite") == before || fs::exists(dir / "run.sqlite-wal") ||
             before.substr(18, 2) == "\2\2",
         "a reader leaves the run as it was");
}

std::vector<std::pair<std::string, std::string>> store_seeds() {
  const auto scalar = [](const std::string& name, const std::string& layer) {
    const auto text = [](const std::string& value) { return '\5' + text_of(value); };
    return '\0' + text(name) + text(layer) + std::string("\1\7", 2) + '\3' + bytes_of(1.5) + '\0' +
           '\0' + '\0' + '\0' + text("ok") + text(R"({"route":"x"})");
  };
  const auto array = [](const std::string& shape, std::size_t numbers) {
    const auto text = [](const std::string& value) { return '\5' + text_of(value); };
    return '\1' + text("hessian/density") + text("") + std::string("\1\7", 2) + text("<f8") +
           text(shape) + '\4' + text_of(std::string(8 * numbers, '\1'));
  };
  const auto verdict = [](const std::string& json) {
    std::string row(1, '\5');
    for (const auto& text :
         {std::string("P-X3"), std::string("holds"), std::string(), json, std::string("now")})
      row += '\5' + text_of(text);
    return row;
  };
  const std::string rows(1, static_cast<char>(kRows));
  const auto small = small_run();
  return {{"seed-empty", std::string(1, static_cast<char>(kFile)) + small},
          {"seed-repaired", std::string(1, static_cast<char>(kRepaired)) + small},
          {"seed-scalars", rows + scalar("kappa/sigma", "blocks.0") + scalar("=x\"", "../a,\n")},
          {"seed-arrays", rows + array("[2, 3]", 6) + array("[0, 4611686018427387904, 4]", 0)},
          {"seed-overflow", rows + array("[4294967296, 4294967296]", 0)},
          {"seed-fraction", rows + array("[1.5, true]", 1)},
          {"seed-verdicts", rows + verdict(R"({"left":1e999})") + verdict("[[[[")}};
}

const Registered kStore({"store", check_run, store_seeds});

}  // namespace
}  // namespace kappascope::fuzz
