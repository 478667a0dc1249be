// SPDX-License-Identifier: Apache-2.0
#include "tensor/state_bytes.h"

#include <torch/serialize.h>
#include <torch/types.h>

#include <vector>

namespace kappascope::tensor {

std::string to_bytes(const State& state) {
  c10::Dict<std::string, std::string> texts;
  c10::Dict<std::string, at::Tensor> tensors;
  for (const auto& [name, text] : state.texts()) texts.insert(name, text);
  for (const auto& [name, tensor] : state.tensors()) tensors.insert(name, tensor.cpu());
  const auto bytes = torch::pickle_save(c10::ivalue::Tuple::create({texts, tensors}));
  return {bytes.begin(), bytes.end()};
}

State from_bytes(const std::string& bytes) {
  const auto both = torch::pickle_load({bytes.begin(), bytes.end()}).toTuple();
  State state;
  for (const auto& item : both->elements()[0].toGenericDict())
    state.set(item.key().toStringRef(), item.value().toStringRef());
  for (const auto& item : both->elements()[1].toGenericDict())
    state.set(item.key().toStringRef(), item.value().toTensor());
  return state;
}

}  // namespace kappascope::tensor
