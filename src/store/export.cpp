// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "core/json_depth.h"
#include "core/require.h"
#include "core/version.h"
#include "store/npz.h"
#include "store/schema/attributes.h"

namespace kappascope::store {
namespace {

using Json = nlohmann::ordered_json;

/// A text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets
/// take for "this is text".
std::string csv_text(const std::string& text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos
             ? "'" + text
             : text;
}

std::string csv_field(const std::string& any) {
  std::string text = csv_text(any);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_number(std::optional<double> number) {
  return number && !std::isnan(*number) ? fmt::format("{}", *number) : std::string();
}

/// Sets object[key], and object["nonfinite"][key] where JSON has no such number.
void set_number(Json& object, const char* key, std::optional<double> number) {
  if (!number) return;
  object[key] = std::isfinite(*number) ? Json(*number) : Json(nullptr);
  if (std::isinf(*number)) object["nonfinite"][key] = fmt::format("{}", *number);
}

/// JSON lines of one run.
struct Lines {
  std::ostream& out;
  std::string run{};  ///< empty where it is the only one

  void write(Json object) const {
    if (!run.empty()) {
      Json line = {{"type", object["type"]}, {"run", run}};
      line.update(object);
      object = std::move(line);
    }
    // Names may come from anywhere; bytes that are no UTF-8 become U+FFFD rather than an error.
    out << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
};

void write_scalar(const Lines& lines, const StepValue& row) {
  Json object = {{"type", "scalar"},
                 {"step", row.step},
                 {"name", row.scalar.name},
                 {"layer", row.scalar.layer}};
  set_number(object, "value", row.scalar.value);
  set_number(object, "lower", row.scalar.lower);
  set_number(object, "upper", row.scalar.upper);
  set_number(object, "n", row.scalar.n);
  set_number(object, "n_effective", row.scalar.n_effective);
  object["status"] = row.scalar.status.text();
  if (!row.scalar.attributes.empty()) object["attributes"] = row.scalar.attributes;
  lines.write(std::move(object));
}

void write_array(const Lines& lines, std::int64_t step, const Array& array) {
  Json object = {{"type", "array"},
                 {"step", step},
                 {"name", array.name},
                 {"layer", array.layer},
                 {"shape", array.shape},
                 {"data", Json::array()}};
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    const double number = array.data[i];
    object["data"].push_back(std::isfinite(number) ? Json(number) : Json(nullptr));
    if (!std::isfinite(number)) {
      object["nonfinite"][std::to_string(i)] =
          std::isnan(number) ? "nan" : fmt::format("{}", number);
    }
  }
  lines.write(std::move(object));
}

/// The verdict as JSON where it is, otherwise as the text that it is.
Json detail_of(const VerdictRow& verdict) {
  if (json_depth(verdict.json) > kDeepestJson) return verdict.json;
  Json detail = Json::parse(verdict.json, nullptr, false);
  return detail.is_discarded() ? Json(verdict.json) : detail;
}

void require_written(std::ostream& out) {
  out.flush();
  require(out.good(), "cannot write the export: the output refused the data; is the disk full?");
}

constexpr std::string_view kArrays = "arrays/";

/// The name of a series as the path of an archive's member that leads nowhere else, and is no other
/// series': what would (a part "." or "..", a root, a backslash, a control character, an @ before
/// the one that begins the layer) is written as %HH, and % as %25.
std::string member_name(const SeriesKey& key) {
  const std::string name = key.layer.empty() ? key.name : key.name + "@" + key.layer;
  std::string path;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool moves = part.empty() || part == "." || part == "..";
    for (std::size_t i = begin; i < end; ++i) {
      const auto c = static_cast<unsigned char>(name[i]);
      const bool hides = c == '%' || c == '\\' || c == ':' || c < 0x20;
      const bool misleads = c == '@' && i < key.name.size();
      path += hides || moves || misleads ? fmt::format("%{:02X}", c) : std::string(1, name[i]);
    }
    if (end < name.size()) path += moves && part.empty() ? "%2F" : "/";
    begin = end + 1;
  }
  return path;
}

/// The same of a series of scalars: none lies in the folder of the arrays.
std::string scalar_member_name(const SeriesKey& key) {
  std::string name = member_name(key);
  if (name.starts_with(kArrays)) name.replace(kArrays.size() - 1, 1, "%2F");
  return name;
}

void add_scalars(Npz& npz,
                 const std::string& folder,
                 const SeriesKey& key,
                 const std::vector<StepValue>& rows) {
  const std::string name = folder + scalar_member_name(key);
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto column = [&](auto&& get) {
    std::vector<double> numbers(rows.size());
    std::transform(rows.begin(), rows.end(), numbers.begin(), [&](const StepValue& row) {
      return std::optional<double>(get(row.scalar))
          .value_or(std::numeric_limits<double>::quiet_NaN());
    });
    return numbers;
  };
  std::vector<std::int64_t> steps;
  std::vector<std::string> statuses, attributes;
  bool any_attributes = false;
  for (const StepValue& row : rows) {
    steps.push_back(row.step);
    statuses.emplace_back(row.scalar.status.text());
    const bool has = !row.scalar.attributes.empty();
    attributes.push_back(has ? attributes_text(row.scalar.attributes) : std::string());
    any_attributes = any_attributes || has;
  }
  npz.add(name + ".step", steps);
  npz.add(name + ".value", {count}, column([](const Scalar& s) { return s.value; }));
  npz.add(name + ".lower", {count}, column([](const Scalar& s) { return s.lower; }));
  npz.add(name + ".upper", {count}, column([](const Scalar& s) { return s.upper; }));
  npz.add(name + ".n", {count}, column([](const Scalar& s) { return s.n; }));
  npz.add(name + ".n_effective", {count}, column([](const Scalar& s) { return s.n_effective; }));
  npz.add(name + ".status", statuses);
  if (any_attributes) npz.add(name + ".attributes", attributes);
}

void add_arrays(Npz& npz,
                const std::string& folder,
                const SeriesKey& key,
                const std::vector<std::pair<std::int64_t, Array>>& rows) {
  const std::string name = folder + std::string(kArrays) + member_name(key);
  const std::vector<std::int64_t>& shape = rows.front().second.shape;
  const bool same_shape = std::all_of(
      rows.begin(), rows.end(), [&](const auto& row) { return row.second.shape == shape; });
  std::vector<std::int64_t> steps;
  std::vector<double> stacked;
  for (const auto& [step, array] : rows) {
    steps.push_back(step);
    if (same_shape) {
      stacked.insert(stacked.end(), array.data.begin(), array.data.end());
    } else {
      npz.add(fmt::format("{}.value.{}", name, step), array.shape, array.data);
    }
  }
  npz.add(name + ".step", steps);
  if (!same_shape) return;
  std::vector<std::int64_t> stacked_shape = {static_cast<std::int64_t>(rows.size())};
  stacked_shape.insert(stacked_shape.end(), shape.begin(), shape.end());
  npz.add(name + ".value", stacked_shape, stacked);
}

void add_run(Npz& npz, const std::string& folder, const RunReader& run) {
  for (const SeriesKey& key : run.series()) {
    const auto rows = run.scalars(key);
    if (!rows.empty()) add_scalars(npz, folder, key, rows);
  }
  for (const SeriesKey& key : run.array_series()) {
    const auto rows = run.arrays(key);
    if (!rows.empty()) add_arrays(npz, folder, key, rows);
  }
}

/// `end`: what follows the columns of a row.
void write_csv(const RunReader& run, const std::string& end, std::ostream& out) {
  for (const SeriesKey& key : run.series()) {
    for (const auto& [step, scalar] : run.scalars(key)) {
      out << step << ',' << csv_field(scalar.name) << ',' << csv_field(scalar.layer) << ','
          << csv_number(scalar.value) << ',' << csv_number(scalar.lower) << ','
          << csv_number(scalar.upper) << ',' << csv_number(scalar.n) << ','
          << csv_number(scalar.n_effective) << ',' << csv_field(std::string(scalar.status.text()))
          << ',' << csv_field(scalar.attributes.empty() ? "" : attributes_text(scalar.attributes))
          << end << "\r\n";
    }
  }
}

void write_jsonl(const RunReader& run, const Lines& lines) {
  lines.write({{"type", "run"}, {"state", run.state()}, {"last_step", run.last_step()}});
  for (const auto& [key, value] : run.facts())
    lines.write({{"type", "fact"}, {"key", key}, {"value", value}});
  for (const SeriesKey& key : run.series()) {
    for (const StepValue& row : run.scalars(key)) write_scalar(lines, row);
  }
  for (const SeriesKey& key : run.array_series()) {
    for (const auto& [step, array] : run.arrays(key)) write_array(lines, step, array);
  }
  for (const auto& [step, time, event] : run.events()) {
    lines.write({{"type", "event"},
                 {"step", step},
                 {"time", time},
                 {"kind", event.kind},
                 {"message", event.message}});
  }
  for (const VerdictRow& verdict : run.verdicts()) {
    lines.write({{"type", "verdict"},
                 {"claim", verdict.claim},
                 {"outcome", verdict.outcome},
                 {"condition", verdict.condition},
                 {"detail", detail_of(verdict)}});
  }
}

}  // namespace

void export_csv(const RunReader& run, std::ostream& out) {
  out << kCsvMark << ",status,attributes\r\n";
  write_csv(run, "", out);
  require_written(out);
}

void export_csv(const std::vector<NamedRun>& runs, std::ostream& out) {
  out << kCsvMark << ",status,attributes,run\r\n";
  for (const auto& [name, run] : runs) write_csv(*run, "," + csv_field(name), out);
  require_written(out);
}

void export_jsonl(const RunReader& run, std::ostream& out) {
  write_jsonl(run, {out});
  require_written(out);
}

void export_jsonl(const std::vector<NamedRun>& runs, std::ostream& out) {
  for (const auto& [name, run] : runs) write_jsonl(*run, {out, name});
  require_written(out);
}

void export_npz(const RunReader& run, const std::filesystem::path& file) {
  Npz npz;
  npz.add("kappascope", std::vector<std::string>{std::string(version())});
  add_run(npz, "", run);
  npz.write(file);
}

void export_npz(const std::vector<NamedRun>& runs, const std::filesystem::path& file) {
  Npz npz;
  npz.add("kappascope", std::vector<std::string>{std::string(version())});
  for (const auto& [name, run] : runs) add_run(npz, "runs/" + member_name({name, ""}) + "/", *run);
  npz.write(file);
}

}  // namespace kappascope::store
