// SPDX-License-Identifier: Apache-2.0
// What libFuzzer calls, in a program of one target.
#include <cstdlib>
#include <cstring>

#include "fuzz/fuzz.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (kappascope::fuzz::write_seeds(*count, *arguments)) std::exit(0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto& target = kappascope::fuzz::targets().front();
  target.check({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t most,
                                               unsigned seed) {
  static const auto& target = kappascope::fuzz::targets().front();
  size = LLVMFuzzerMutate(data, size, most);
  // One in four stays damaged.
  if (!target.repair || seed % 4 == 0) return size;
  const auto whole = target.repair({reinterpret_cast<const char*>(data), size});
  if (whole.size() > most) return size;
  std::memcpy(data, whole.data(), whole.size());
  return whole.size();
}
