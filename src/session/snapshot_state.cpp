// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot_state.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/require.h"

namespace kappascope::session {
namespace {

// Ends each entry of a column of texts; neither a name nor a status holds one.
constexpr char kEnd = '\n';
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> split(const std::string& column, std::int64_t count) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < column.size();) {
    const auto end = column.find(kEnd, begin);
    out.push_back(column.substr(begin, end - begin));
    begin = end + 1;
  }
  require(std::ssize(out) == count, "{} texts where {} are expected", out.size(), count);
  return out;
}

std::optional<double> present(double number) {
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

std::string entry(const char* kind, std::size_t i) {
  return fmt::format("{}{}", kind, i);
}

}  // namespace

tensor::State state_of(const store::Snapshot& snapshot) {
  std::string names, layers, statuses;
  std::vector<double> numbers;
  tensor::State out;
  for (std::size_t i = 0; i < snapshot.scalars.size(); ++i) {
    const auto& scalar = snapshot.scalars[i];
    names += scalar.name + kEnd;
    layers += scalar.layer + kEnd;
    statuses += std::string(scalar.status.text()) + kEnd;
    for (const auto& number :
         {std::optional(scalar.value), scalar.lower, scalar.upper, scalar.n, scalar.n_effective})
      numbers.push_back(number.value_or(kNone));
    tensor::State attributes;
    for (const auto& [key, text] : scalar.attributes) attributes.set(key, text);
    if (!scalar.attributes.empty()) out.set(entry("attributes", i), attributes);
  }
  out.set("names", names);
  out.set("layers", layers);
  out.set("statuses", statuses);
  out.set("numbers", torch::tensor(numbers, torch::kDouble).view({-1, 5}));
  out.set("arrays", std::ssize(snapshot.arrays));
  for (std::size_t i = 0; i < snapshot.arrays.size(); ++i) {
    const auto& array = snapshot.arrays[i];
    tensor::State inner;
    inner.set("name", array.name);
    inner.set("layer", array.layer);
    inner.set("data", torch::tensor(array.data, torch::kDouble).view(array.shape));
    out.set(entry("array", i), inner);
  }
  out.set("events", std::ssize(snapshot.events));
  for (std::size_t i = 0; i < snapshot.events.size(); ++i) {
    tensor::State inner;
    inner.set("kind", snapshot.events[i].kind);
    inner.set("message", snapshot.events[i].message);
    out.set(entry("event", i), inner);
  }
  return out;
}

void append(const tensor::State& state, store::Snapshot& to) {
  const auto numbers = state.tensor("numbers", torch::kDouble, {-1, 5}).contiguous();
  const auto count = numbers.size(0);
  const auto names = split(state.text("names"), count);
  const auto layers = split(state.text("layers"), count);
  const auto statuses = split(state.text("statuses"), count);
  const double* row = numbers.const_data_ptr<double>();
  for (std::size_t i = 0; i < names.size(); ++i, row += 5) {
    store::Scalar scalar;
    scalar.name = names[i];
    scalar.layer = layers[i];
    scalar.value = row[0];
    scalar.lower = present(row[1]);
    scalar.upper = present(row[2]);
    scalar.n = present(row[3]);
    scalar.n_effective = present(row[4]);
    scalar.status = store::Status::parse(statuses[i]);
    const auto attributes = state.inner(entry("attributes", i));
    for (const auto& [key, text] : attributes.texts()) scalar.attributes[key] = text;
    to.scalars.push_back(std::move(scalar));
  }
  for (std::int64_t i = 0; i < state.integer("arrays"); ++i) {
    const auto inner = state.inner(entry("array", static_cast<std::size_t>(i)));
    const auto data = inner.floating_tensor("data", inner.tensors().at("data").sizes());
    const auto flat = data.to(torch::kDouble).contiguous();
    to.arrays.push_back(
        {inner.text("name"),
         inner.text("layer"),
         data.sizes().vec(),
         {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()}});
  }
  for (std::int64_t i = 0; i < state.integer("events"); ++i) {
    const auto inner = state.inner(entry("event", static_cast<std::size_t>(i)));
    to.events.push_back({inner.text("kind"), inner.text("message")});
  }
}

}  // namespace kappascope::session
