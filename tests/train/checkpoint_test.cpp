// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/checkpoint.h"

#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/core/temporary_folder.h"
#include "support/catch.h"

using namespace kappascope;
namespace fs = std::filesystem;

TEST_CASE(
    "checkpoints are found by step, pruned from the oldest, and other files are not taken for "
    "one") {
  const TemporaryFolder folder;
  const auto dir = folder.path() / "checkpoints";
  fs::create_directories(dir);
  CHECK_FALSE(train::find_checkpoint(folder.path()).has_value());
  for (const auto* name : {"step-00000007.pt",
                           "step-00000014.pt",
                           "step-00000021.pt",
                           "step-00000028.pt.partial",
                           "notes.pt"}) {
    testing::write_bytes(dir / name, "x");
  }
  CHECK(train::checkpoint_step(*train::find_checkpoint(folder.path())) == 21);
  CHECK(train::checkpoint_step(*train::find_checkpoint(folder.path(), 14)) == 14);
  CHECK_FALSE(train::find_checkpoint(folder.path(), 15).has_value());
  train::prune_checkpoints(folder.path(), 2);
  CHECK_FALSE(fs::exists(dir / "step-00000007.pt"));
  CHECK(fs::exists(dir / "step-00000014.pt"));
  CHECK(fs::exists(dir / "notes.pt"));
}

TEST_CASE("a damaged checkpoint and one of another model are named") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto task = train::make_task(testing::small_config(folder.path() / "data"));
  const auto file = [&] {
    train::Session session(task.model(), store::RunWriter::create(folder.path() / "run", {}), {});
    return train::save_checkpoint(folder.path() / "run", 3, task.model(), *task.optimizer, session);
  }();
  CHECK(train::load_model(file, task.model()) == 3);
  auto other_config = task.config;
  other_config.hidden = 11;
  auto other = train::make_task(other_config);
  CHECK_THROWS_WITH(train::load_model(file, other.model()),
                    Catch::Contains("does not fit") && Catch::Contains("blocks.0"));
  testing::write_bytes(file, "PK\x03\x04 not a checkpoint");
  CHECK_THROWS_WITH(train::load_model(file, task.model()),
                    Catch::Contains("cannot read checkpoint"));
}
