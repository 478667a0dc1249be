// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <torch/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "core/own_files.h"
#include "core/require.h"

namespace kappascope::tensor {

MappedFile map_file(const std::filesystem::path& path) {
  require_regular(path);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  void* start = MAP_FAILED;
  int error = fstat(file, &status) == 0 ? 0 : errno;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (error == 0 && size > 0) {
    start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (start == MAP_FAILED) error = errno;
  }
  close(file);
  if (error == ENOMEM) throw std::bad_alloc();  // says nothing about the file
  require(error == 0, "cannot read {}: {}", path.string(), std::strerror(error));
  if (size == 0) return {};
  return {{static_cast<const std::byte*>(start),
           [size](const std::byte* p) { munmap(const_cast<std::byte*>(p), size); }},
          size};
}

at::Tensor mapped_tensor(const std::filesystem::path& path, at::ScalarType type) {
  const auto file = map_file(path);
  const auto numbers = static_cast<std::int64_t>(file.size / c10::elementSize(type));
  // LibTorch has no tensors that cannot be written to.
  return torch::from_blob(
      const_cast<std::byte*>(file.bytes.get()), {numbers}, [bytes = file.bytes](void*) {}, type);
}

}  // namespace kappascope::tensor
