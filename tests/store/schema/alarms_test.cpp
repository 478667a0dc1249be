// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/alarms.h"

#include <fstream>
#include <iterator>

#include "support/catch.h"

using namespace kappascope::store;
using Catch::Contains;

TEST_CASE("every alarm stands at its id, is found by its name and its kind, and in the README") {
  std::ifstream in(KAPPASCOPE_STORE_README);
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t i = 0; i < alarms().size(); ++i) {
    const auto& info = alarms().at(i);
    CAPTURE(info.name);
    CHECK(info.id == static_cast<AlarmId>(i));
    CHECK(&info_of(info.id) == &info);
    CHECK(find_alarm(info.name) == info.id);
    CHECK(alarm_of_kind(alarm_kind(info.id)) == info.id);
    CHECK_THAT(readme,
               Contains("| `alarm/" + std::string(info.name) + "` | " + std::string(info.meaning) +
                        " | " + std::string(to_string(info.role)) + " |"));
  }
  CHECK_FALSE(find_alarm("kapp"));
  CHECK_FALSE(alarm_of_kind("kappa"));
  CHECK_FALSE(alarm_of_kind("alarm/of_tomorrow"));
  CHECK_FALSE(alarm_of_kind("nan_loss"));
}
