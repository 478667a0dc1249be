// SPDX-License-Identifier: Apache-2.0
// The decoder of PNG and JPEG, with memory that begins as zeros: of a JPEG file that uses a table
// which it does not have, stb up to 2.27 would take what lay in memory before, and follow it.
#include <cstdlib>

#define STBI_MALLOC(size) std::calloc(1, size)
#define STBI_REALLOC(bytes, size) std::realloc(bytes, size)
#define STBI_FREE(bytes) std::free(bytes)
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
