// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "lab/study/result.h"
#include "lab/study/verdict.h"

/// The stored form of a result: the only code that writes or reads it.
namespace kappascope::study {

/// With seed and seconds, which a result leaves out: all else is the same when the runs are.
nlohmann::ordered_json json_of(const ClaimVerdict& verdict);
nlohmann::ordered_json json_of(const Comparison& comparison);
nlohmann::ordered_json json_of(const StudyResult& result);

/// Throws nlohmann's exceptions, or Error for an outcome that is none.
StudyResult result_of(const nlohmann::ordered_json& json);

}  // namespace kappascope::study
