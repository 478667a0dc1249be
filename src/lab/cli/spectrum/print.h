// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lab/cli/spectrum/result.h"

namespace kappascope::cli {

/// The result for a program.
nlohmann::json to_json(const SpectrumRequest& request, const SpectrumResult& result);

/// The result for a person, on stdout.
void print_text(const SpectrumRequest& request, const SpectrumResult& result);

}  // namespace kappascope::cli
