// SPDX-License-Identifier: Apache-2.0
#include "core/json_depth.h"

#include <string>

#include "support/catch.h"

using kappascope::json_depth;

TEST_CASE("the depth of JSON is that of its brackets outside of texts") {
  CHECK(json_depth("1") == 0);
  CHECK(json_depth("[]") == 1);
  CHECK(json_depth(R"({"a":[1,{"b":2}],"c":[[3]]})") == 3);
  CHECK(json_depth(R"(["[[[", "\"[[", "\\", []])") == 2);
  CHECK(json_depth("]]]]") == 0);
  CHECK(json_depth(std::string(1000, '[')) == 1000);
}
