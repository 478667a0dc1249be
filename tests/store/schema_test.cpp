// SPDX-License-Identifier: Apache-2.0
// The schema is a promise to people who read runs with sqlite3 and pandas: what src/store/README.md
// says must be so.
#include <SQLiteCpp/SQLiteCpp.h>

#include "store/fixture.h"
#include "support/catch.h"
#include "support/files.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using kappascope::testing::slurp;

namespace {

std::vector<std::string> column(SQLite::Database& sql, const std::string& query) {
  SQLite::Statement statement(sql, query);
  std::vector<std::string> texts;
  while (statement.executeStep()) texts.push_back(statement.getColumn(0).getString());
  return texts;
}

/// What stands in `text` between each `open` and the `close` after it.
std::vector<std::string> between(const std::string& text,
                                 const std::string& open,
                                 const std::string& close) {
  std::vector<std::string> found;
  for (auto start = text.find(open); start != std::string::npos; start = text.find(open, start)) {
    start += open.size();
    found.push_back(text.substr(start, text.find(close, start) - start));
  }
  return found;
}

}  // namespace

TEST_CASE("the documented tables are the tables, with all their columns") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch.path(), {});
  SQLite::Database sql((scratch / "run.sqlite").string());
  const std::string text = slurp(KAPPASCOPE_STORE_README);
  const auto tables = column(sql, "SELECT name FROM sqlite_schema WHERE type = 'table'");
  CHECK(tables.size() == 7);
  for (const std::string& table : tables) {
    const auto start = text.find("\n| `" + table + "` |");
    REQUIRE(start != std::string::npos);
    const std::string row = text.substr(start + 1, text.find('\n', start + 1) - start);
    for (const auto& name : column(sql, "SELECT name FROM pragma_table_info('" + table + "')")) {
      CHECK_THAT(row, Contains(name));
    }
  }
}

TEST_CASE("the documented queries run and find what they say") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch.path(), {});
  writer.write(snapshot(10));
  writer.write({.step = 10,
                .scalars = {{.name = "loss/train", .value = 0.5},
                            {.name = "hessian/lambda_1", .value = 30, .status = "converged"}}});
  SQLite::Database sql((scratch / "run.sqlite").string());
  const std::string text = slurp(KAPPASCOPE_STORE_README);
  const auto rows_of = [&](const std::string& open, const std::string& close) {
    std::vector<std::size_t> rows;
    for (const auto& query : between(text, open, close)) rows.push_back(column(sql, query).size());
    return rows;
  };
  CHECK(rows_of("```sql\n", "```") == std::vector<std::size_t>{kScalarsPerSnapshot, 1});
  CHECK(rows_of("read_sql(\"", "\"") == std::vector<std::size_t>{kScalarsPerSnapshot});
  CHECK(rows_of("run.execute(\"", "\"") == std::vector<std::size_t>{1});
}
