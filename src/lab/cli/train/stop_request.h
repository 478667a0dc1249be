// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace kappascope::cli {

/// From here on Ctrl-C, SIGTERM and SIGHUP ask for a stop, which is seen in what is returned. A
/// signal that is ignored stays so: nohup asks for that. A second one, some seconds later, ends the
/// program at once.
const std::atomic<bool>& listen_for_stop();

/// Whether a stop was asked for so long ago that a measurement must not hold it up: one that ends
/// by then leaves nothing out, and the resumed run has what an uninterrupted one has.
bool stop_is_overdue();

}  // namespace kappascope::cli
