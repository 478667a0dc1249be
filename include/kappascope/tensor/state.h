// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace kappascope::tensor {

/// What an object needs to go on in another process: integers, numbers, texts and tensors by name.
/// It is data only: reading one runs nothing that it holds. The names of an inner state begin with
/// its own name and a "/".
///
/// Tensors are shared with the object that gave them, not copied: write them before it goes on.
/// Those of a file lie on the host, in the mapped file; whoever takes them over gets copies, and
/// moves them to its device.
/// A state that was read may come from anywhere, so each reader says what it expects, and throws
/// Error with the name and what is there where that is something else.
class State {
 public:
  void set(const std::string& name, std::int64_t value);
  void set(const std::string& name, double value);
  void set(const std::string& name, const std::string& value);
  void set(const std::string& name, const at::Tensor& value);
  void set(const std::string& name, const State& inner);

  /// Whether there is an entry or an inner state of that name.
  [[nodiscard]] bool has(const std::string& name) const;

  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] const std::string& text(const std::string& name) const;
  /// A copy of a tensor of this type and shape; an extent of -1 may be any.
  [[nodiscard]] at::Tensor tensor(const std::string& name,
                                  at::ScalarType type,
                                  at::IntArrayRef shape) const;
  /// One of any floating type.
  [[nodiscard]] at::Tensor floating_tensor(const std::string& name, at::IntArrayRef shape) const;
  /// Empty where there is none.
  [[nodiscard]] State inner(const std::string& name) const;

  /// All entries by their full names, for a file. Integers and numbers are texts there: the
  /// shortest ones that give the same value again.
  [[nodiscard]] const std::map<std::string, std::string>& texts() const { return texts_; }
  [[nodiscard]] const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }

 private:
  [[nodiscard]] const at::Tensor& tensor_of(const std::string& name) const;

  std::map<std::string, std::string> texts_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace kappascope::tensor
