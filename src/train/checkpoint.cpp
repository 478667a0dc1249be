// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/checkpoint.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>
#include <torch/types.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "kappascope/core/require.h"
#include "kappascope/store/atomic_file.h"
#include "kappascope/train/session.h"

namespace kappascope::train {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> list(const fs::path& run_dir) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run_dir / "checkpoints", ignored)) {
    if (checkpoint_step(entry.path()) >= 0) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

torch::serialize::InputArchive open(const fs::path& file) {
  torch::serialize::InputArchive archive;
  try {
    archive.load_from(file.string());
  } catch (const c10::Error& error) {
    throw Error("cannot read checkpoint " + file.string() + ": " + error.what_without_backtrace());
  }
  return archive;
}

template <typename Read>
void fit(const fs::path& file, Read read) {
  try {
    read();
  } catch (const c10::Error& error) {
    throw Error("checkpoint " + file.string() +
                " does not fit this configuration: " + error.what_without_backtrace());
  }
}

int64_t read_model(const fs::path& file,
                   torch::serialize::InputArchive& archive,
                   torch::nn::Module& model) {
  torch::Tensor step;
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& parameter : model.parameters()) shapes.push_back(parameter.sizes().vec());
  fit(file, [&] {
    torch::serialize::InputArchive inner;
    archive.read("model", inner);
    model.load(inner);
    archive.read("step", step);
  });
  // LibTorch loads a parameter of another shape without a word.
  std::size_t index = 0;
  for (const auto& item : model.named_parameters()) {
    require(item.value().sizes().vec() == shapes[index++],
            "checkpoint {} does not fit this configuration: parameter {} has another shape there",
            file.string(),
            item.key());
  }
  return step.item<int64_t>();
}

}  // namespace

int64_t checkpoint_step(const fs::path& file) {
  const auto name = file.filename().string();
  if (name.size() < 9 || name.rfind("step-", 0) != 0 || file.extension() != ".pt") return -1;
  const auto digits = file.stem().string().substr(5);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stoll(digits);
}

fs::path save_checkpoint(const fs::path& run_dir,
                         int64_t step,
                         const torch::nn::Module& model,
                         const torch::optim::Optimizer& optimizer,
                         Session& session) {
  torch::serialize::OutputArchive archive, model_archive, optimizer_archive, session_archive;
  model.save(model_archive);
  optimizer.save(optimizer_archive);
  session.save(session_archive);
  archive.write("model", model_archive);
  archive.write("optimizer", optimizer_archive);
  archive.write("session", session_archive);
  archive.write("step", torch::tensor(step));
  archive.write("random_state", at::detail::getDefaultCPUGenerator().get_state());

  const auto dir = run_dir / "checkpoints";
  fs::create_directories(dir);
  auto file = dir / fmt::format("step-{:08}.pt", step);
  // Through memory: LibTorch's own file writer throws from a destructor when the disk is full.
  std::ostringstream bytes(std::ios::binary);
  archive.save_to(bytes);
  store::write_atomically(file, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out << bytes.view();
    out.close();
    require(out.good(),
            "cannot write checkpoint {}: {}; free some space and resume the run; what was written "
            "before is intact",
            file.string(),
            std::strerror(errno));
  });
  return file;
}

int64_t load_checkpoint(const fs::path& file,
                        torch::nn::Module& model,
                        torch::optim::Optimizer& optimizer,
                        Session& session) {
  auto archive = open(file);
  const auto step = read_model(file, archive, model);
  fit(file, [&] {
    torch::serialize::InputArchive inner;
    archive.read("optimizer", inner);
    optimizer.load(inner);
    torch::serialize::InputArchive probes;
    archive.read("session", probes);
    session.load(probes);
    torch::Tensor random_state;
    archive.read("random_state", random_state);
    auto generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(random_state);
  });
  return step;
}

int64_t load_model(const fs::path& file, torch::nn::Module& model) {
  auto archive = open(file);
  return read_model(file, archive, model);
}

std::optional<fs::path> find_checkpoint(const fs::path& run_dir, std::optional<int64_t> step) {
  const auto found = list(run_dir);
  if (!step) return found.empty() ? std::nullopt : std::optional(found.back());
  for (const auto& file : found) {
    if (checkpoint_step(file) == *step) return file;
  }
  return std::nullopt;
}

void prune_checkpoints(const fs::path& run_dir, int keep) {
  auto found = list(run_dir);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < found.size(); ++i)
    fs::remove(found[i]);
}

}  // namespace kappascope::train
