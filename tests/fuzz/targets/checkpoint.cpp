// SPDX-License-Identifier: Apache-2.0
#include "lab/train/checkpoint/checkpoint.h"

#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/types.h>

#include <optional>

#include "fuzz/safetensors.h"
#include "kappascope/session/session.h"
#include "tensor/safetensors/state_file.h"

namespace kappascope::fuzz {
namespace {

/// What checkpoints are loaded into: as small as a module and an optimiser with a state can be.
struct Trained {
  torch::nn::Linear model{2, 1};
  torch::optim::Adam optimizer{model->parameters()};
  session::Session session{store::RunWriter::create(scratch("checkpoint") / "run", {}), {}};

  Trained() {
    torch::manual_seed(1);
    model->forward(torch::ones({1, 2})).sum().backward();
    optimizer.step();
  }
};

Trained& trained() {
  static Trained all;
  return all;
}

/// A reader of a state either takes a value as it would be written, or throws Error.
void check_values(const tensor::State& state) {
  for (const auto& entry : state.texts()) {
    const auto &name = entry.first, &text = entry.second;  // Clang 14 captures no bindings
    expect(state.has(name) && state.text(name) == text, "a text is there under its name");
    tensor::State again;
    if (accepted([&] { again.set(name, state.integer(name)); }))
      expect(again.integer(name) == state.integer(name), "an integer is written as it is read");
    if (accepted([&] { again.set(name, state.number(name)); })) {
      const auto first = state.number(name), second = again.number(name);
      expect(first == second || (first != first && second != second),
             "a number is written as it is read");
    }
  }
  for (const auto& entry : state.tensors()) {
    const auto& name = entry.first;
    const auto& tensor = entry.second;
    expect(state.has(name), "a tensor is there under its name");
    expect(same_bits(state.tensor(name, tensor.scalar_type(), tensor.sizes()), tensor),
           "a tensor has its own type and shape");
    accepted([&] { drop(state.floating_tensor(name, {-1})); });
  }
}

void check_checkpoint(std::string_view bytes) {
  // Before the checkpoints, because a session makes a run of its own.
  auto& own = trained();
  const auto folder = scratch("checkpoint");
  const auto file = folder / "step-00000001.safetensors";
  put(file, bytes);
  std::optional<tensor::State> state;
  if (!accepted([&] { state.emplace(tensor::read_state(file)); })) return;
  check_values(*state);
  const auto again = folder / "again.safetensors";
  tensor::write_state(again, *state);
  const auto back = tensor::read_state(again);
  expect(back.texts() == state->texts(), "what is written holds the texts that were read");
  expect(back.tensors().size() == state->tensors().size(), "what is written holds all tensors");
  for (const auto& [name, tensor] : state->tensors()) {
    expect(same_bits(back.tensor(name, tensor.scalar_type(), tensor.sizes()), tensor),
           "what is written holds the tensors that were read");
  }
  accepted([&] {
    const auto checkpoint = train::read_checkpoint(file);
    expect(checkpoint.step == 1, "the step is that of the file's name");
    train::load_checkpoint(checkpoint, *own.model, own.optimizer, own.session);
    torch::rand({700});  // all of the generator's table
  });
}

std::vector<std::pair<std::string, std::string>> checkpoint_seeds() {
  auto& own = trained();
  const auto folder = scratch("checkpoint");
  const auto file = train::save_checkpoint(folder, 1, *own.model, own.optimizer, own.session);
  tensor::State state;
  state.set("step", std::int64_t{1});
  state.set("loss", 0.25);
  state.set("name", std::string("a \"text\""));
  state.set("inner/w", torch::tensor({1.5, -2.0}));
  tensor::write_state(folder / "small", state);
  return {{"seed-whole", get(file)}, {"seed-small", get(folder / "small")}};
}

const Registered kCheckpoint(
    {"checkpoint", check_checkpoint, checkpoint_seeds, repair_safetensors});

}  // namespace
}  // namespace kappascope::fuzz
