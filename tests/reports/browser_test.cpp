// SPDX-License-Identifier: Apache-2.0
#include "support/catch.h"
