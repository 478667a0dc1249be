// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <filesystem>
#include <memory>

namespace kappascope::tensor {

/// A file's bytes, mapped read-only: the system counts no memory for them, however many there are.
struct MappedFile {
  std::shared_ptr<const std::byte> bytes;  ///< null where the file is empty
  std::size_t size = 0;
};

/// Throws Error with the path and the cause, std::bad_alloc where addresses run out.
MappedFile map_file(const std::filesystem::path& path);

/// [n] numbers of `type` that the file consists of, not to be written to. Its bytes beyond a whole
/// number of them are left out.
at::Tensor mapped_tensor(const std::filesystem::path& path, at::ScalarType type);

}  // namespace kappascope::tensor
