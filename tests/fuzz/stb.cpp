// SPDX-License-Identifier: Apache-2.0
// The reader of images that Debian ships, compiled anew as in data/stb.cpp: with the fuzzer's
// counters, and with the sanitizers that it can bear.
#include <cstdlib>
#if defined(__clang__)
#pragma clang diagnostic ignored "-Weverything"
#endif
#define STBI_MALLOC(size) std::calloc(1, size)
#define STBI_REALLOC(bytes, size) std::realloc(bytes, size)
#define STBI_FREE(bytes) std::free(bytes)
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
