// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "kappascope/session/session.h"
#include "kappascope/store/run_reader.h"
#include "kappascope/store/schema/schema.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

session::Session session_in(const std::filesystem::path& dir, std::vector<session::Alarm>& alarms) {
  session::SessionOptions options;
  options.alarms.on_alarm = [&](const auto& raised) {
    alarms.insert(alarms.end(), raised.begin(), raised.end());
  };
  return {store::RunWriter::create(dir, {}), {}, options};
}

std::vector<std::pair<std::int64_t, double>> stored(const std::filesystem::path& dir,
                                                    store::SeriesId id) {
  std::vector<std::pair<std::int64_t, double>> out;
  const store::RunReader reader(dir);
  for (const auto& [step, scalar] : reader.scalars({id, ""})) out.emplace_back(step, scalar.value);
  return out;
}

/// Cannot listen for what a step needs, from one on.
class DeafFrom : public session::Session {
 public:
  DeafFrom(std::int64_t step, const std::filesystem::path& dir)
      : Session(store::RunWriter::create(dir, {}), {}, {}), step_(step) {}

 private:
  void listen(const session::Needs&) override {
    if (next_step() > step_) throw Error("deaf");
  }
  std::int64_t step_;
};

using Points = std::vector<std::pair<std::int64_t, double>>;

}  // namespace

TEST_CASE("numbers that come after further steps are of their own, and so is their alarm") {
  const TemporaryFolder dir;
  std::vector<session::Alarm> alarms;
  auto session = session_in(dir.path() / "run", alarms);
  for (int step = 0; step < 4; ++step) session.begin_step(0.1 * step);
  CHECK_THROWS_WITH(session.step(1.0), Catch::Contains("complete_step() is to be called first"));
  CHECK_THROWS_WITH((void)session.state(), Catch::Contains("between two steps"));
  session.complete_step(3.0, 30.0);
  session.complete_step(std::numeric_limits<double>::quiet_NaN());
  REQUIRE(alarms.size() == 1);
  CHECK(alarms.front().step == 1);
  session.complete_step(1.0);
  session.close("finished");  // the last step's loss never came
  CHECK(stored(dir.path() / "run", store::id::kGradientNorm) == Points{{0, 30.0}});
  const auto losses = stored(dir.path() / "run", store::id::kLossTrain);
  REQUIRE(losses.size() == 3);
  CHECK(losses.front() == std::pair<std::int64_t, double>{0, 3.0});
  CHECK(losses.at(1).first == 1);
  CHECK(losses.back() == std::pair<std::int64_t, double>{2, 1.0});
  CHECK(stored(dir.path() / "run", store::id::kLearningRate).size() == 4);
}

TEST_CASE("a run that goes on raises no alarm that was raised before it stopped") {
  const TemporaryFolder dir;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<session::Alarm> before, after;
  auto first = session_in(dir.path() / "first", before);
  first.step(nan);
  REQUIRE(before.size() == 1);
  auto second = session_in(dir.path() / "second", after);
  second.load(first.state());
  second.step(nan);
  CHECK(after.empty());
  second.step(1.0);
  second.step(nan);
  CHECK(after.size() == 1);
}

TEST_CASE("a step is completed once") {
  const TemporaryFolder dir;
  std::vector<session::Alarm> alarms;
  auto session = session_in(dir.path() / "run", alarms);
  CHECK_THROWS_WITH(session.complete_step(1.0), Catch::Contains("more often than begin_step()"));
  session.step(1.0);
  CHECK_THROWS_WITH(session.complete_step(1.0), Catch::Contains("more often than begin_step()"));
}

TEST_CASE("a step that fails is as if it had not begun, and the run ends at the one before") {
  const TemporaryFolder dir;
  DeafFrom session(2, dir.path() / "run");
  session.step(3.0);
  session.step(2.0);
  CHECK_THROWS_WITH(session.step(1.0), "deaf");
  CHECK(session.next_step() == 2);
  session.close("interrupted");
  const store::RunReader reader(dir.path() / "run");
  CHECK(reader.last_step() == 1);
  CHECK(stored(dir.path() / "run", store::id::kLossTrain) == Points{{0, 3.0}, {1, 2.0}});
}

TEST_CASE("a run that had to go on elsewhere is told of once, with the step counted") {
  const TemporaryFolder dir;
  session::SessionOptions options;
  options.flush_seconds = 0;
  session::Session session(store::RunWriter::create(dir.path() / "run", {}), {}, options);
  session.step(3.0);
  std::filesystem::remove_all(dir.path() / "run");
  CHECK_THROWS_WITH(session.step(2.0), Catch::Contains("removed or replaced"));
  CHECK(session.next_step() == 2);
  CHECK(session.is_rescued());
  CHECK_NOTHROW(session.step(1.0));
  CHECK_NOTHROW(session.flush());
  CHECK_NOTHROW(session.close());
  CHECK(stored(dir.path() / "run-rescued", store::id::kLossTrain) ==
        Points{{0, 3.0}, {1, 2.0}, {2, 1.0}});
}

TEST_CASE("flush and close tell of a run that had to go on elsewhere too") {
  for (const bool flushes : {true, false}) {
    const TemporaryFolder dir;
    session::SessionOptions options;
    options.flush_seconds = 1e9;
    session::Session session(store::RunWriter::create(dir.path() / "run", {}), {}, options);
    session.step(3.0);
    std::filesystem::remove_all(dir.path() / "run");
    CHECK_THROWS_WITH(flushes ? session.flush() : session.close(),
                      Catch::Contains("removed or replaced"));
  }
}
