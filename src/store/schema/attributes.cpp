// SPDX-License-Identifier: Apache-2.0
#include "store/schema/attributes.h"

#include <nlohmann/json.hpp>

#include "kappascope/core/error.h"

namespace kappascope::store {

using Json = nlohmann::json;

std::string attributes_text(const Attributes& attributes) {
  return Json(attributes).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Attributes parse_attributes(const std::string& text) {
  const Json object = Json::parse(text, nullptr, false);
  Attributes attributes;
  if (object.is_object()) {
    for (const auto& [key, value] : object.items()) {
      if (value.is_string()) attributes.emplace(key, value.get<std::string>());
    }
    if (attributes.size() == object.size()) return attributes;
  }
  throw Error("attributes are a JSON object of texts, not " + text);
}

}  // namespace kappascope::store
