// SPDX-License-Identifier: Apache-2.0
// Attributes as the store keeps them: one JSON object of texts.
#pragma once

#include <string>

#include "kappascope/store/record.h"

namespace kappascope::store {

/// {"route":"factorisation"}; bytes that are no UTF-8 become U+FFFD.
std::string attributes_text(const Attributes& attributes);

/// Throws kappascope::Error where `text` is not a JSON object of texts.
Attributes parse_attributes(const std::string& text);

}  // namespace kappascope::store
