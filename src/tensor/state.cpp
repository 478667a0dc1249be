// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/state.h"

#include <fmt/ranges.h>
#include <torch/types.h>

#include <charconv>
#include <string_view>

#include "core/require.h"

namespace kappascope::tensor {
namespace {

template <typename Value>
Value parsed(const std::string& name, std::string_view text, const char* kind) {
  Value value{};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && stop == end,
          "'{}' in the saved state is no {}: {}",
          name,
          kind,
          text.substr(0, 40));
  return value;
}

template <typename Map>
bool has_below(const Map& map, const std::string& prefix) {
  const auto found = map.lower_bound(prefix);
  return found != map.end() && found->first.starts_with(prefix);
}

template <typename Map>
void take(const Map& from, const std::string& prefix, Map& to) {
  for (auto it = from.lower_bound(prefix); it != from.end() && it->first.starts_with(prefix); ++it)
    to.insert_or_assign(it->first.substr(prefix.size()), it->second);
}

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool fits(at::IntArrayRef shape, at::IntArrayRef expected) {
  if (shape.size() != expected.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (expected[i] >= 0 && shape[i] != expected[i]) return false;
  }
  return true;
}

}  // namespace

void State::set(const std::string& name, std::int64_t value) {
  texts_[name] = fmt::format("{}", value);
}

void State::set(const std::string& name, double value) {
  texts_[name] = fmt::format("{}", value);
}

void State::set(const std::string& name, const std::string& value) {
  texts_[name] = value;
}

void State::set(const std::string& name, const at::Tensor& value) {
  tensors_[name] = value;
}

void State::set(const std::string& name, const State& inner) {
  const auto prefix = name + '/';
  for (const auto& [key, value] : inner.texts_) texts_[prefix + key] = value;
  for (const auto& [key, value] : inner.tensors_) tensors_[prefix + key] = value;
}

bool State::has(const std::string& name) const {
  return texts_.contains(name) || tensors_.contains(name) || has_below(texts_, name + '/') ||
         has_below(tensors_, name + '/');
}

const std::string& State::text(const std::string& name) const {
  const auto found = texts_.find(name);
  require(found != texts_.end(), "the saved state has no '{}'", name);
  return found->second;
}

std::int64_t State::integer(const std::string& name) const {
  return parsed<std::int64_t>(name, text(name), "integer");
}

double State::number(const std::string& name) const {
  return parsed<double>(name, text(name), "number");
}

const at::Tensor& State::tensor_of(const std::string& name) const {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), "the saved state has no tensor '{}'", name);
  return found->second;
}

at::Tensor State::tensor(const std::string& name,
                         at::ScalarType type,
                         at::IntArrayRef shape) const {
  const auto& tensor = tensor_of(name);
  require(tensor.scalar_type() == type && fits(tensor.sizes(), shape),
          "tensor '{}' in the saved state is {} {} where {} {} was expected",
          name,
          c10::toString(tensor.scalar_type()),
          shape_text(tensor.sizes()),
          c10::toString(type),
          shape_text(shape));
  return tensor.clone();
}

at::Tensor State::floating_tensor(const std::string& name, at::IntArrayRef shape) const {
  const auto type = tensor_of(name).scalar_type();
  require(at::isFloatingType(type),
          "tensor '{}' in the saved state holds {}, not floating numbers",
          name,
          c10::toString(type));
  return tensor(name, type, shape);
}

State State::inner(const std::string& name) const {
  State out;
  take(texts_, name + '/', out.texts_);
  take(tensors_, name + '/', out.tensors_);
  return out;
}

}  // namespace kappascope::tensor
