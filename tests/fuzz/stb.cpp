// SPDX-License-Identifier: Apache-2.0
// The reader of images that Debian ships, compiled anew: with the fuzzer's counters and the
// sanitizers in it, it takes the place of the library.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Weverything"
#endif
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
