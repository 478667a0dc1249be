// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kappascope {

/// The version of the library, "major.minor.patch".
std::string_view version();

}  // namespace kappascope
