// SPDX-License-Identifier: Apache-2.0
// A run that diverged, or of which a part is gone, is drawn, judged and listed like any other.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/reports/report.h"
#include "reports/advice.h"
#include "reports/drawn_run.h"
#include "reports/figures.h"
#include "reports/runs/listing.h"
#include "reports/terminal/frame.h"
#include "store/rows/row_checksum.h"
#include "support/catch.h"
#include "support/mutations.h"
#include "support/stored_run.h"

namespace kappascope::reports {
namespace {

namespace fs = std::filesystem;

/// Numbers that a training in double comes to, and some that only a file can hold.
constexpr std::array kExtremes = {"1e308",
                                  "-1e308",
                                  "1.7976931348623157e308",
                                  "-1.7976931348623157e308",
                                  "5e-324",
                                  "-5e-324",
                                  "2.2e-308",
                                  "9e999",
                                  "-9e999",
                                  "NULL",
                                  "0",
                                  "1e300",
                                  "1e-300",
                                  "9.3e18",
                                  "-1"};

constexpr std::array kEntries = {std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::max(),
                                 -std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::denorm_min(),
                                 0.0};

/// Every entry of every array becomes this one.
void fill_arrays(SQLite::Database& sql, double entry) {
  SQLite::Statement all(sql, "SELECT rowid, length(data) FROM arrays");
  SQLite::Statement put(sql, "UPDATE arrays SET data = ? WHERE rowid = ?");
  while (all.executeStep()) {
    const std::vector<double> data(static_cast<std::size_t>(all.getColumn(1).getInt()) / 8, entry);
    put.reset();
    put.bind(1, data.data(), static_cast<int>(8 * data.size()));
    put.bind(2, all.getColumn(0).getInt64());
    put.exec();
  }
}

/// Puts extremes into the columns of a random part of the numbers, into steps and arrays, as a
/// writer would, and takes the rows of some series away. At `everywhere`, one number is in all of
/// them.
void make_extreme(const fs::path& dir, std::mt19937_64& random, bool everywhere) {
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE);
  store::add_row_crc(sql);
  const auto one_of = [&](const auto& list) { return list[random() % list.size()]; };
  constexpr std::array kColumns = {"value", "lower", "upper", "n", "n_effective"};
  std::vector<std::string> names;
  SQLite::Statement all(sql, "SELECT DISTINCT name FROM scalars");
  while (all.executeStep()) names.push_back(all.getColumn(0).getString());
  all.reset();
  SQLite::Transaction transaction(sql);
  if (everywhere) {
    const auto* number = one_of(kExtremes);
    for (const auto* column : kColumns)
      sql.exec(fmt::format("UPDATE scalars SET {} = {}", column, number));
  } else {
    for (int i = 0; i < 30; ++i) {
      sql.exec(fmt::format("UPDATE scalars SET {} = {} WHERE name = '{}' AND step % {} = 0",
                           one_of(kColumns),
                           one_of(kExtremes),
                           one_of(names),
                           1 + random() % 3));
    }
  }
  // Steps and times that a training may hardly come to, and one that it cannot.
  constexpr std::array kSteps = {"9007199254740992", "9223372036854775807", "-3", "1000000000000"};
  for (const char* table : {"snapshots", "scalars", "arrays", "events"})
    if (random() % 4 == 0)
      sql.exec(
          fmt::format("UPDATE OR IGNORE {} SET step = {} WHERE step = (SELECT max(step) FROM {})",
                      table,
                      one_of(kSteps),
                      table));
  if (random() % 3 == 0) fill_arrays(sql, one_of(kEntries));
  for (const auto& table : {store::kSnapshots, store::kScalars, store::kArrays, store::kEvents})
    sql.exec(fmt::format("UPDATE {} SET crc = row_crc({})", table.name, table.columns));
  if (random() % 2 == 0) {
    for (int i = 0; i < 3; ++i)
      sql.exec(fmt::format("UPDATE scalars SET crc = NULL WHERE name = '{}'", one_of(names)));
  }
  transaction.commit();
}

void check_axis(const Axis& axis) {
  CHECK(std::isfinite(axis.min));
  CHECK(std::isfinite(axis.max));
  CHECK(axis.min < axis.max);
  CHECK(std::isfinite(axis.max - axis.min));
  if (axis.log) {
    CHECK(axis.min > 0);
    CHECK(axis.ticks.size() <= 20);  // 1, 1.2, 1.5, ... over little more than half a decade
  }
  for (const auto& tick : axis.ticks) CHECK(std::isfinite(tick.at));
}

}  // namespace

TEST_CASE("a run of any numbers, with any series gone, is reported, advised on, listed and drawn") {
  const TemporaryFolder scratch;
  std::mt19937_64 random(5);
  const int trials = testing::mutations(45);
  for (int trial = 0; trial < trials; ++trial) {
    CAPTURE(trial);
    const auto dir = scratch / fmt::format("run{}", trial);
    if (trial % 2 == 0) {
      testing::write_stored_run(dir, 4);
    } else {
      Random draw{std::mt19937(static_cast<unsigned>(trial))};
      write_drawn(draw, dir, true);
    }
    make_extreme(dir, random, trial % 3 == 0);
    const auto arms = read_arms({dir});
    for (const auto& figure : build_figures(arms)) {
      CAPTURE(figure.id);
      check_axis(figure.x);
      for (const auto& panel : figure.panels) check_axis(panel.y);
    }
    CHECK_THAT(html_report({dir}), Catch::EndsWith("</html>\n"));
    CHECK_FALSE(frame_of(arms, {}).empty());
    CHECK_NOTHROW(summary_of(dir));
    try {
      CHECK_FALSE(to_text(advice(dir)).empty());
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("no down-projection was measured"));
    }
    fs::remove_all(dir);
  }
}

}  // namespace kappascope::reports
