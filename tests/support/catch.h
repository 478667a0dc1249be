// SPDX-License-Identifier: Apache-2.0
// The one place that knows which Catch2 there is (Debian 12 ships version 2).
#pragma once

#include <catch2/catch.hpp>
