// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kappascope::reports {

/// The results of studies (`kappascope results --json`) as a Markdown page: a table of all
/// verdicts, then each study with its command, its verdicts, its arms and every comparison that was
/// made. Throws when `results` is no such JSON.
std::string results_markdown(const std::string& results);

}  // namespace kappascope::reports
