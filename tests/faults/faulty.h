// SPDX-License-Identifier: Apache-2.0
// What the two halves of the shim share: which call is to fail, and what was counted.
#pragma once

#include <cstddef>

namespace faulty {

enum Kind : int { kNone, kMemory, kWrite, kSync, kRename, kRead, kMap, kKill, kKinds };

/// Whether the call that is about to be made is the one that fails (errno is then set), or the one
/// that kills the process, which does not return. Counts it.
bool fails(Kind kind);

/// Whether the n-th call of kKill is a write: half of `bytes` is then to be written before the end.
bool dies_within(std::size_t bytes);
[[noreturn]] void die();

/// Whether this address lies in LibTorch, in a library that comes with it or in the loader: memory
/// that those ask for is not counted.
bool outside(const void* address);

/// Only between the begin and the end of main is anything counted.
bool armed();

}  // namespace faulty
