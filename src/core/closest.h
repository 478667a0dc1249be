// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kappascope {

/// The closest of `known` to `word` within a third of its length, or an empty string. Names with
/// points are compared by their last part too, as a user of an INI file may leave out the section.
std::string closest(const std::string& word, const std::vector<std::string>& known);

}  // namespace kappascope
