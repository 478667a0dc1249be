// SPDX-License-Identifier: Apache-2.0
// The allocators of the shim: glibc's own, but for the call that is to fail. Memory that LibTorch
// asks for by itself is not counted, what our program and its other libraries ask for is.
#include <cerrno>
#include <cstddef>
#include <new>

#include "faulty.h"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

bool refused(const void* caller) {
  return faulty::armed() && !faulty::outside(caller) && faulty::fails(faulty::kMemory);
}

void* make(std::size_t size, std::size_t alignment, const void* caller) {
  if (refused(caller)) return nullptr;
  const std::size_t bytes = size == 0 ? 1 : size;
  return alignment == 0 ? __libc_malloc(bytes) : __libc_memalign(alignment, bytes);
}

void* make_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  void* out = make(size, alignment, caller);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

void* malloc(std::size_t size) noexcept {
  return refused(CALLER) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return refused(CALLER) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  return size != 0 && refused(CALLER) ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return refused(CALLER) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (refused(CALLER)) return ENOMEM;
  void* made = __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *out = made;
  return 0;
}

}  // extern "C"

void* operator new(std::size_t size) {
  return make_or_throw(size, 0, CALLER);
}
void* operator new[](std::size_t size) {
  return make_or_throw(size, 0, CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return make(size, 0, CALLER);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return make(size, 0, CALLER);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return make_or_throw(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return make_or_throw(size, static_cast<std::size_t>(alignment), CALLER);
}
