// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "kappascope/core/require.h"
#include "kappascope/store/writer_lock.h"
#include "store/database/array_codec.h"
#include "store/database/database.h"
#include "store/database/row_checksum.h"
#include "store/schema/attributes.h"
#include "store/schema/version1.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

std::optional<double> number(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  return column.getDouble();
}

/// Two searches a key, where DISTINCT would pass over every row, and (name, layer) > (?, ?) over
/// all rows of the key. A key that is no text any more is that of a damaged row; SQLite orders it
/// behind every text, whatever it says.
std::vector<SeriesKey> keys_of(SQLite::Database& sql, const char* table) {
  // The keys of one moment.
  const SQLite::Transaction transaction(sql);
  const auto search = [&](const char* behind) {
    return SQLite::Statement(
        sql,
        fmt::format(
            "SELECT name, layer FROM {} WHERE typeof(name) = 'text' AND typeof(layer) = 'text'{} "
            "ORDER BY name, layer LIMIT 1",
            table,
            behind));
  };
  auto first = search("");
  auto next_layer = search(" AND name = ? AND layer > ?");
  auto next_name = search(" AND name > ?");
  std::vector<SeriesKey> keys;
  for (auto* found = first.executeStep() ? &first : nullptr; found != nullptr;) {
    SeriesKey key{found->getColumn(0).getString(), found->getColumn(1).getString()};
    // Of a database in another encoding, or with an order of its own, the search might never end.
    require(keys.empty() || keys.back() < key,
            "the names in its table {} are in no order that a run has: it is damaged",
            table);
    keys.push_back(std::move(key));
    next_layer.reset();
    next_layer.bind(1, keys.back().name);
    next_layer.bind(2, keys.back().layer);
    next_name.reset();
    next_name.bind(1, keys.back().name);
    found = next_layer.executeStep() ? &next_layer : next_name.executeStep() ? &next_name : nullptr;
  }
  return keys;
}

/// Fills in what stands in the columns `status` and `attributes`. A word that is no status of this
/// program, of a newer one say, becomes an attribute.
void read_status(const SQLite::Column& status, const SQLite::Column& attributes, Scalar& out) {
  if (!attributes.isNull()) out.attributes = parse_attributes(attributes.getString());
  const std::string text = status.getString();
  if (const auto known = Status::find(text)) {
    out.status = *known;
  } else {
    out.status = Status::kOther;
    out.attributes.emplace(attribute::kStatus, text);
  }
}

Array decode(const SeriesKey& key, SQLite::Statement& row) {
  const SQLite::Column blob = row.getColumn(3);
  Array array{key.name, key.layer, {}, {}};
  require(row.getColumn(1).getString() == kArrayDtype,
          "it is of type {}, not {}",
          row.getColumn(1).getString(),
          kArrayDtype);
  array.shape = parse_shape(row.getColumn(2).getString());
  array.data = from_little_endian(
      {static_cast<const char*>(blob.getBlob()), static_cast<std::size_t>(blob.getBytes())});
  require(element_count(array.shape) == static_cast<std::int64_t>(array.data.size()),
          "its shape and its size disagree");
  return array;
}

/// The columns and, behind them, what is damaged of the row.
std::string select(const std::string& columns, const CheckedTable& table, SQLite::Database& sql) {
  return fmt::format(
      "SELECT {}, {} FROM {}", columns, damage_of(table, Database::version(sql)), table.name);
}

}  // namespace

struct RunReader::Impl {
  explicit Impl(const fs::path& run) : dir(run), database(run, Database::Access::kRead) {}

  template <typename Body>
  decltype(auto) read(Body&& body) {
    return database.run("read", std::forward<Body>(body));
  }

  /// Whether the row of select() is as it was written; remembers it otherwise, once however often
  /// it is read.
  bool keep(SQLite::Statement& row) {
    const auto damage = row.getColumn(row.getColumnCount() - 1);
    if (!damage.isNull()) damaged.insert(damage.getString());
    return damage.isNull();
  }

  fs::path dir;
  Database database;
  std::set<std::string> damaged;
};

RunReader::RunReader(const fs::path& dir) : impl_(std::make_unique<Impl>(dir)) {}
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

const fs::path& RunReader::dir() const {
  return impl_->dir;
}

std::string RunReader::state() const {
  // The lock first: a writer that ends between the two looks has set its state by then.
  const bool written = WriterLock::held(impl_->dir);
  const std::string state = fact("state");
  return state == "running" && !written ? "dead" : state;
}

Facts RunReader::facts() const {
  return impl_->read([&](SQLite::Database& sql) {
    SQLite::Statement query(
        sql, select("key, value", kFacts, sql) + " WHERE key <> 'state' ORDER BY rowid");
    Facts facts;
    while (query.executeStep()) {
      const auto key = query.getColumn(0).getString();
      if (impl_->keep(query)) facts.emplace_back(key, query.getColumn(1).getString());
    }
    return facts;
  });
}

std::string RunReader::fact(const std::string& key, const std::string& otherwise) const {
  return impl_->read([&](SQLite::Database& sql) {
    SQLite::Statement query(sql, select("value", kFacts, sql) + " WHERE key = ?");
    query.bind(1, key);
    if (!query.executeStep()) return otherwise;
    const bool whole = impl_->keep(query);
    return whole ? query.getColumn(0).getString() : otherwise;
  });
}

std::vector<SeriesKey> RunReader::series() const {
  return impl_->read([](SQLite::Database& sql) { return keys_of(sql, "scalars"); });
}

std::vector<SeriesKey> RunReader::array_series() const {
  return impl_->read([](SQLite::Database& sql) { return keys_of(sql, "arrays"); });
}

std::vector<StepValue> RunReader::scalars(const SeriesKey& key, std::int64_t from) const {
  return impl_->read([&](SQLite::Database& sql) {
    // The version and the rows of one moment: a writer may bring the file up to date meanwhile.
    const SQLite::Transaction transaction(sql);
    const bool old = Database::version(sql) == 1;
    SQLite::Statement query(sql,
                            select(fmt::format("step, value, lower, upper, n, n_effective, {}, {}",
                                               old ? kStatusFromVersion1 : "status",
                                               old ? kAttributesFromVersion1 : "attributes"),
                                   kScalars,
                                   sql) +
                                " WHERE name = ? AND layer = ? AND step >= ? ORDER BY step");
    query.bind(1, key.name);
    query.bind(2, key.layer);
    query.bind(3, from);
    std::vector<StepValue> values;
    while (query.executeStep()) {
      const auto step = query.getColumn(0).getInt64();
      if (!impl_->keep(query)) continue;
      values.push_back(
          {step,
           {key.name,
            key.layer,
            number(query.getColumn(1)).value_or(std::numeric_limits<double>::quiet_NaN()),
            number(query.getColumn(2)),
            number(query.getColumn(3)),
            number(query.getColumn(4)),
            number(query.getColumn(5))}});
      read_status(query.getColumn(6), query.getColumn(7), values.back().scalar);
    }
    return values;
  });
}

std::vector<std::pair<std::int64_t, Array>> RunReader::arrays(const SeriesKey& key,
                                                              std::int64_t from) const {
  return impl_->read([&](SQLite::Database& sql) {
    SQLite::Statement query(sql,
                            select("step, dtype, shape, data", kArrays, sql) +
                                " WHERE name = ? AND layer = ? AND step >= ? ORDER BY step");
    query.bind(1, key.name);
    query.bind(2, key.layer);
    query.bind(3, from);
    std::vector<std::pair<std::int64_t, Array>> arrays;
    while (query.executeStep()) {
      const std::int64_t step = query.getColumn(0).getInt64();
      if (!impl_->keep(query)) continue;
      try {
        arrays.emplace_back(step, decode(key, query));
      } catch (const std::bad_alloc&) {
        throw;  // says nothing about the array
      } catch (const std::exception& exception) {
        throw Error(fmt::format("cannot read {}: the array {} of step {} is damaged: {}",
                                database_file(impl_->dir).string(),
                                key.name,
                                step,
                                exception.what()));
      }
    }
    return arrays;
  });
}

std::vector<StepEvent> RunReader::events() const {
  return impl_->read([&](SQLite::Database& sql) {
    SQLite::Statement query(sql,
                            select("step, time, kind, message", kEvents, sql) + " ORDER BY id");
    std::vector<StepEvent> events;
    while (query.executeStep()) {
      const auto step = query.getColumn(0).getInt64();
      if (!impl_->keep(query)) continue;
      events.push_back({step,
                        query.getColumn(1).getString(),
                        {query.getColumn(2).getString(), query.getColumn(3).getString()}});
    }
    return events;
  });
}

std::vector<VerdictRow> RunReader::verdicts() const {
  return impl_->read([&](SQLite::Database& sql) {
    SQLite::Statement query(
        sql, select("claim, outcome, condition, json", kVerdicts, sql) + " ORDER BY rowid");
    std::vector<VerdictRow> verdicts;
    while (query.executeStep()) {
      const auto claim = query.getColumn(0).getString();
      if (!impl_->keep(query)) continue;
      verdicts.push_back({claim,
                          query.getColumn(1).getString(),
                          query.getColumn(2).getString(),
                          query.getColumn(3).getString()});
    }
    return verdicts;
  });
}

std::vector<std::string> RunReader::damaged() const {
  return {impl_->damaged.begin(), impl_->damaged.end()};
}

std::int64_t RunReader::last_step() const {
  return impl_->read([](SQLite::Database& sql) {
    const SQLite::Column last = sql.execAndGet("SELECT max(step) FROM snapshots");
    return last.isNull() ? std::int64_t{-1} : last.getInt64();
  });
}

std::string RunReader::last_written(std::int64_t until) const {
  return impl_->read([&](SQLite::Database& sql) {
    // Earlier versions replaced the time of a step to which a spectrum was added.
    SQLite::Statement query(sql,
                            "SELECT time FROM snapshots AS taken WHERE step <= ? AND NOT EXISTS "
                            "(SELECT 1 FROM events WHERE kind = 'spectrum' AND events.step = "
                            "taken.step AND events.time = taken.time) ORDER BY step DESC LIMIT 1");
    query.bind(1, until);
    return query.executeStep() ? query.getColumn(0).getString() : std::string();
  });
}

}  // namespace kappascope::store
