// SPDX-License-Identifier: Apache-2.0
#include "lab/train/checkpoint/checkpoint.h"

#include <sys/stat.h>
#include <torch/types.h>

#include <iterator>
#include <random>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/files.h"
#include "support/mutations.h"
#include "tensor/allocations.h"
#include "tensor/safetensors/state_file.h"

using namespace kappascope;
namespace fs = std::filesystem;
using testing::slurp;

namespace {

/// A small task after some steps of training, and its checkpoints of steps 3 and 6.
struct Trained {
  TemporaryFolder folder;
  train::Task task = [this] {
    testing::write_image_set(folder.path() / "data");
    return train::make_task(testing::small_config(folder.path() / "data"));
  }();
  fs::path run = folder / "run", first, second;

  Trained() {
    probes::TappedSession session(task.model(), store::RunWriter::create(run, {}), {});
    const auto save = [&](int64_t step) {
      return train::save_checkpoint(run, step, task.model(), *task.optimizer, session);
    };
    first = save(3);
    second = save(6);
  }
  void load(const train::Checkpoint& checkpoint) {
    probes::TappedSession session(task.model(), store::RunWriter::create(folder / "other", {}), {});
    train::load_checkpoint(checkpoint, task.model(), *task.optimizer, session);
  }
};

}  // namespace

TEST_CASE("a checkpoint does not make the folder of a run that was taken away") {
  Trained trained;
  const auto& task = trained.task;
  probes::TappedSession session(
      task.model(), store::RunWriter::create(trained.folder / "other", {}), {});
  const auto absent = trained.folder / "absent";
  CHECK_THROWS_WITH(train::save_checkpoint(absent, 7, task.model(), *task.optimizer, session),
                    Catch::Contains("there is no directory " + absent.string()));
  CHECK_FALSE(fs::exists(absent));
}

TEST_CASE("a checkpoint that is read lies in its file until it is loaded") {
  Trained trained;
  const auto before = testing::weights(trained.task);
  const tensor::Allocations counted;
  const auto checkpoint = train::read_checkpoint(trained.second);
  CHECK(counted.peak() < before.numel());  // bytes; the model alone has four a weight
  CHECK(checkpoint.state.inner("model").tensors().size() > 1);
  trained.load(checkpoint);
  CHECK(torch::equal(testing::weights(trained.task), before));
}

TEST_CASE("checkpoints are found by step, and other files are not taken for one") {
  Trained trained;
  const auto dir = trained.run / "checkpoints";
  for (const auto* name : {"step-99999999999999999999999.safetensors",
                           "step--0000007.safetensors",
                           "step-.safetensors",
                           "step-00000007.safetensors.partial",
                           "notes.safetensors"}) {
    testing::write_bytes(dir / name, "x");
    CHECK(train::checkpoint_step(dir / name) == -1);
  }
  CHECK(train::newest_checkpoint(trained.run)->step == 6);
  CHECK(train::newest_checkpoint(trained.run, 3)->file == trained.first);
  CHECK_FALSE(train::newest_checkpoint(trained.run, 4).has_value());
  CHECK_FALSE(train::newest_checkpoint(trained.folder / "absent").has_value());
  // What a killed process left of a step that is not written again.
  testing::write_bytes(dir / ".step-00000005.safetensors.0badcafe.partial", "x");
  testing::write_bytes(dir / ".notes.safetensors.0badcafe.partial", "x");
  train::prune_checkpoints(trained.run, 1);
  CHECK_FALSE(fs::exists(dir / ".step-00000005.safetensors.0badcafe.partial"));
  CHECK(fs::exists(dir / ".notes.safetensors.0badcafe.partial"));
  CHECK_FALSE(fs::exists(trained.first));
  CHECK(fs::exists(trained.second));
  CHECK(fs::exists(dir / "notes.safetensors"));
}

TEST_CASE("a checkpoint of version 0.1 is refused by name and never read") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "checkpoints");
  const auto file = folder / "checkpoints/step-00000007.pt";
  testing::write_bytes(file, "PK\x03\x04 code that would run");
  const auto refused = Catch::Contains(file.string() + " is a checkpoint of version 0.1");
  CHECK_THROWS_WITH(train::read_checkpoint(file), refused);
  CHECK_THROWS_WITH(train::newest_checkpoint(folder.path()), refused);
  CHECK_THROWS_WITH(train::newest_checkpoint(folder.path(), 7), refused);
  // Under the new name it is no safetensors file.
  fs::rename(file, folder / "checkpoints/step-00000007.safetensors");
  CHECK_THROWS_WITH(train::newest_checkpoint(folder.path()),
                    Catch::Contains("not a whole safetensors file"));
}

TEST_CASE("checkpoints are not written, read or removed through a link") {
  Trained trained;
  const auto& task = trained.task;
  probes::TappedSession session(
      task.model(), store::RunWriter::create(trained.folder / "other", {}), {});
  const auto elsewhere = trained.folder / "elsewhere";
  fs::rename(trained.run / "checkpoints", elsewhere);
  fs::create_directory_symlink(elsewhere, trained.run / "checkpoints");
  const auto refused = Catch::Contains("checkpoints: it is a link");
  CHECK_THROWS_WITH(train::save_checkpoint(trained.run, 9, task.model(), *task.optimizer, session),
                    refused);
  CHECK_THROWS_WITH(train::newest_checkpoint(trained.run), refused);
  CHECK_THROWS_WITH(train::checkpoint_files(trained.run), refused);
  CHECK_THROWS_WITH(train::prune_checkpoints(trained.run, 1), refused);
  CHECK(std::distance(fs::directory_iterator(elsewhere), {}) == 2);
  // A link among them, and a pipe, which nobody would end.
  fs::remove(trained.run / "checkpoints");
  fs::rename(elsewhere, trained.run / "checkpoints");
  const auto moved = trained.folder / "moved";
  fs::rename(trained.second, moved);
  fs::create_symlink(moved, trained.second);
  CHECK_THROWS_WITH(train::read_checkpoint(trained.second), Catch::Contains("it is a link"));
  CHECK(train::newest_checkpoint(trained.run)->step == 3);
  fs::remove(trained.second);
  REQUIRE(::mkfifo(trained.second.c_str(), 0600) == 0);
  CHECK_THROWS_AS(train::read_checkpoint(trained.second), Error);
  train::prune_checkpoints(trained.run, 1);
  CHECK(fs::exists(moved));
}

TEST_CASE("no flipped bit and no cut of a checkpoint passes") {
  Trained trained;
  const auto whole = slurp(trained.second);
  const int mutations = testing::mutations(300);
  std::mt19937_64 random(1);
  for (int trial = 0; trial < mutations; ++trial) {
    auto damaged = whole;
    if (trial % 10 == 9) {
      damaged.resize(random() % whole.size());
    } else {
      // A third of them in the header, which is short beside the numbers.
      const auto range = trial % 3 == 0 ? std::min<std::size_t>(whole.size(), 4096) : whole.size();
      damaged[random() % range] ^= static_cast<char>(1U << (random() % 8));
    }
    testing::write_bytes(trained.second, damaged);
    CAPTURE(trial);
    CHECK_THROWS_AS(train::read_checkpoint(trained.second), Error);
  }
}

TEST_CASE("the newest checkpoint that is whole is taken, and what is wrong with newer ones told") {
  Trained trained;
  auto damaged = slurp(trained.second);
  damaged[damaged.size() / 2] ^= 1;
  testing::write_bytes(trained.second, damaged);
  std::vector<std::string> told;
  const auto tell = [&](const std::string& why) { told.push_back(why); };
  CHECK(train::newest_checkpoint(trained.run, {}, tell)->step == 3);
  REQUIRE(told.size() == 1);
  CHECK_THAT(
      told[0],
      Catch::Contains(trained.second.string()) && Catch::Contains("is damaged: its checksum"));
  CHECK_THROWS_WITH(train::newest_checkpoint(trained.run, 6), Catch::Contains("is damaged"));
  testing::write_bytes(trained.first, "");
  CHECK_THROWS_WITH(train::newest_checkpoint(trained.run),
                    Catch::Contains("no checkpoint in") && Catch::Contains("is damaged"));
}

TEST_CASE("a checkpoint under the name of another step is refused") {
  Trained trained;
  fs::rename(trained.first, trained.run / "checkpoints/step-00000009.safetensors");
  CHECK(train::newest_checkpoint(trained.run)->step == 6);
}

TEST_CASE("a checkpoint of another model is named, and changes nothing") {
  Trained trained;
  auto other_config = trained.task.config;
  other_config.hidden = 11;
  auto other = train::make_task(other_config);
  const auto before = testing::weights(other);
  const auto checkpoint = train::read_checkpoint(trained.second);
  CHECK_THROWS_WITH(train::load_model(checkpoint, other.model()),
                    Catch::Contains("does not fit") && Catch::Contains("blocks.0") &&
                        Catch::Contains(trained.second.string()));
  CHECK(torch::equal(testing::weights(other), before));
}

TEST_CASE("prepared contents behind a right checksum are refused by name") {
  Trained trained;
  const auto with = [&](const std::string& name, const auto& value) {
    auto checkpoint = train::read_checkpoint(trained.second);
    checkpoint.state.set(name, value);
    return checkpoint;
  };
  REQUIRE_NOTHROW(trained.load(train::read_checkpoint(trained.second)));
  fs::remove_all(trained.folder / "other");
  const auto refused = [&](const train::Checkpoint& checkpoint, const std::string& why) {
    CHECK_THROWS_WITH(trained.load(checkpoint), Catch::Contains(why));
    fs::remove_all(trained.folder / "other");
  };
  // Either number of the generator is in range, but together they read beyond its table.
  auto random_state = at::detail::getDefaultCPUGenerator().get_state().clone();
  auto* bytes = random_state.mutable_data_ptr<uint8_t>();
  const int32_t left = 600;
  const uint64_t next = 600;
  std::memcpy(bytes + 8, &left, sizeof left);
  std::memcpy(bytes + 16, &next, sizeof next);
  refused(with("random_state", random_state), "none of the generator's");
  refused(with("random_state", torch::zeros({3}, torch::kByte)), "cut off");
  refused(with("random_state", torch::zeros({5000})), "'random_state'");
  refused(with("session/step", std::string("many")), "no integer");
  refused(with("session/step", std::int64_t{-5}), "step -5");
  refused(with("model/more", torch::zeros({2})), "the model does not have: more");
  const auto name = trained.task.model().named_parameters().begin()->key();
  refused(with("optimizer/" + name + "/exp_avg", torch::zeros({1})), "has no");
}
