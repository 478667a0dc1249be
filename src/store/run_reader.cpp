// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/require.h"
#include "store/database/database.h"
#include "store/database/writer_lock.h"
#include "store/rows/array_codec.h"
#include "store/rows/read_rows.h"
#include "store/rows/row_checksum.h"
#include "store/rows/totals.h"
#include "store/schema/attributes.h"
#include "store/schema/version1.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

/// Bytes. A page draws a label in a hundred places; longer texts than these are cut.
constexpr std::size_t kLongestLabel = 1'000, kLongestMessage = std::size_t{1} << 16U,
                      kLongestFact = std::size_t{1} << 26U;

std::string bounded(std::string text, std::size_t longest) {
  if (text.size() <= longest) return text;
  const auto size = text.size();
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) --longest;
  text.resize(longest);
  return text + fmt::format("… (of {} bytes)", size);
}

std::optional<double> number(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  return column.getDouble();
}

/// The series that have rows, and those that once had: all rows of one may be missing. Two searches
/// a key, where DISTINCT would pass over every row, and (name, layer) > (?, ?) over
/// all rows of the key. A key that is no text any more is that of a damaged row; SQLite orders it
/// behind every text, whatever it says.
std::vector<SeriesKey> keys_of(SQLite::Database& sql, const CheckedTable& table) {
  const auto search = [&](const char* behind) {
    return SQLite::Statement(
        sql,
        fmt::format(
            "SELECT name, layer FROM {} WHERE typeof(name) = 'text' AND typeof(layer) = 'text'{} "
            "ORDER BY name, layer LIMIT 1",
            table.name,
            behind));
  };
  auto first = search("");
  auto next_layer = search(" AND name = ? AND layer > ?");
  auto next_name = search(" AND name > ?");
  std::vector<SeriesKey> keys;
  for (auto* found = first.executeStep() ? &first : nullptr; found != nullptr;) {
    SeriesKey key{found->getColumn(0).getString(), found->getColumn(1).getString()};
    // On damaged pages the search might never end.
    require(keys.empty() || keys.back() < key,
            "the names in its table {} are in no order that a run has: it is damaged",
            table.name);
    require(std::max(key.name.size(), key.layer.size()) <= kLongestName,
            "a name in its table {} has more than {} bytes, as no run that was written has",
            table.name,
            kLongestName);
    keys.push_back(std::move(key));
    next_layer.reset();
    next_layer.bind(1, keys.back().name);
    next_layer.bind(2, keys.back().layer);
    next_name.reset();
    next_name.bind(1, keys.back().name);
    found = next_layer.executeStep() ? &next_layer : next_name.executeStep() ? &next_name : nullptr;
  }
  if (Database::version(sql) < kFirstWithTotals) return keys;
  for (const auto& [counted, total] : totals_of(sql, table))
    if (total.rows > 0) keys.push_back({counted.name, counted.layer});
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
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

/// `row`: step, dtype, shape, data.
Array decode(const SeriesKey& key, const RowQuery& row) {
  const SQLite::Column blob = row[3];
  Array array{key.name, key.layer, {}, {}};
  require(row[1].getString() == kArrayDtype,
          "it is of type {}, not {}",
          row[1].getString(),
          kArrayDtype);
  array.shape = parse_shape(row[2].getString());
  array.data = from_little_endian(
      {static_cast<const char*>(blob.getBlob()), static_cast<std::size_t>(blob.getBytes())});
  require(element_count(array.shape) == static_cast<std::int64_t>(array.data.size()),
          "its shape and its size disagree");
  return array;
}

}  // namespace

struct RunReader::Impl {
  explicit Impl(const fs::path& run) : dir(run), database(run, Database::Access::kRead) {}

  /// What body(SQLite::Database&) reads is of one moment: a writer may go on meanwhile, or bring
  /// the file up to date.
  template <typename Body>
  auto read(Body&& body) {
    return database.run("read", [&](SQLite::Database& sql) {
      const SQLite::Transaction transaction(sql);
      return body(sql);
    });
  }

  /// With the state.
  Facts facts() {
    return read([&](SQLite::Database& sql) {
      Facts facts;
      RowQuery rows(sql, kFacts, "key, value", " ORDER BY rowid", damaged);
      while (rows.next()) {
        auto key = bounded(rows[0].getString(), kLongestLabel);
        const bool label = key == "label" || key == "condition";
        auto value = bounded(rows[1].getString(), label ? kLongestLabel : kLongestFact);
        facts.emplace_back(std::move(key), std::move(value));
      }
      rows.require_all();
      return facts;
    });
  }

  fs::path dir;
  Database database;
  Damage damaged;
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
  auto facts = impl_->facts();
  std::erase_if(facts, [](const auto& fact) { return fact.first == "state"; });
  return facts;
}

std::string RunReader::fact(const std::string& key, const std::string& otherwise) const {
  for (auto& [found, value] : impl_->facts())
    if (found == key) return std::move(value);
  return otherwise;
}

std::vector<SeriesKey> RunReader::series() const {
  return impl_->read([](SQLite::Database& sql) { return keys_of(sql, kScalars); });
}

std::vector<SeriesKey> RunReader::array_series() const {
  return impl_->read([](SQLite::Database& sql) { return keys_of(sql, kArrays); });
}

std::vector<StepValue> RunReader::scalars(const SeriesKey& key, std::int64_t from) const {
  std::vector<StepValue> values;
  visit_scalars(key, from, [&](StepValue value) { values.push_back(std::move(value)); });
  return values;
}

void RunReader::visit_scalars(const SeriesKey& key,
                              std::int64_t from,
                              const std::function<void(StepValue)>& visit) const {
  impl_->read([&](SQLite::Database& sql) {
    const bool old = Database::version(sql) == 1;
    RowQuery rows(sql,
                  kScalars,
                  fmt::format("step, value, lower, upper, n, n_effective, {}, {}",
                              old ? kStatusFromVersion1 : "status",
                              old ? kAttributesFromVersion1 : "attributes"),
                  key.name,
                  key.layer,
                  from,
                  impl_->damaged);
    while (rows.next()) {
      StepValue found{rows[0].getInt64(),
                      {key.name,
                       key.layer,
                       number(rows[1]).value_or(std::numeric_limits<double>::quiet_NaN()),
                       number(rows[2]),
                       number(rows[3]),
                       number(rows[4]),
                       number(rows[5])}};
      read_status(rows[6], rows[7], found.scalar);
      visit(std::move(found));
    }
    if (from == kFirstStep) rows.require_all();
  });
}

std::vector<std::pair<std::int64_t, Array>> RunReader::arrays(const SeriesKey& key,
                                                              std::int64_t from) const {
  return impl_->read([&](SQLite::Database& sql) {
    RowQuery rows(
        sql, kArrays, "step, dtype, shape, data", key.name, key.layer, from, impl_->damaged);
    std::vector<std::pair<std::int64_t, Array>> arrays;
    while (rows.next()) {
      const std::int64_t step = rows[0].getInt64();
      try {
        arrays.emplace_back(step, decode(key, rows));
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
    if (from == kFirstStep) rows.require_all();
    return arrays;
  });
}

std::vector<StepEvent> RunReader::events() const {
  return impl_->read([&](SQLite::Database& sql) {
    RowQuery rows(sql, kEvents, "step, time, kind, message", " ORDER BY id", impl_->damaged);
    std::vector<StepEvent> events;
    while (rows.next())
      events.push_back({rows[0].getInt64(),
                        bounded(rows[1].getString(), kLongestLabel),
                        {bounded(rows[2].getString(), kLongestLabel),
                         bounded(rows[3].getString(), kLongestMessage)}});
    rows.require_all();
    return events;
  });
}

std::vector<VerdictRow> RunReader::verdicts() const {
  return impl_->read([&](SQLite::Database& sql) {
    RowQuery rows(
        sql, kVerdicts, "claim, outcome, condition, json", " ORDER BY rowid", impl_->damaged);
    std::vector<VerdictRow> verdicts;
    while (rows.next())
      verdicts.push_back({bounded(rows[0].getString(), kLongestLabel),
                          bounded(rows[1].getString(), kLongestLabel),
                          bounded(rows[2].getString(), kLongestMessage),
                          bounded(rows[3].getString(), kLongestFact)});
    rows.require_all();
    return verdicts;
  });
}

std::vector<std::string> RunReader::damaged() const {
  return {impl_->damaged.begin(), impl_->damaged.end()};
}

std::int64_t RunReader::last_step() const {
  return impl_->read([&](SQLite::Database& sql) {
    RowQuery rows(sql, kSnapshots, "step", " ORDER BY step DESC", impl_->damaged);
    return rows.next() ? rows[0].getInt64() : std::int64_t{-1};
  });
}

std::string RunReader::last_written(std::int64_t until) const {
  return impl_->read([&](SQLite::Database& sql) {
    // Earlier versions replaced the time of a step to which a spectrum was added.
    RowQuery rows(sql,
                  kSnapshots,
                  "time",
                  fmt::format(" WHERE step <= {} AND NOT EXISTS (SELECT 1 FROM events WHERE kind = "
                              "'spectrum' AND events.step = snapshots.step AND events.time = "
                              "snapshots.time) ORDER BY step DESC",
                              until),
                  impl_->damaged);
    return rows.next() ? rows[0].getString() : std::string();
  });
}

}  // namespace kappascope::store
