// SPDX-License-Identifier: Apache-2.0
/// @file
/// A run on disk: what is stored, the one writer, the readers.
#pragma once

#include "kappascope/store/record.h"
#include "kappascope/store/run_reader.h"
#include "kappascope/store/run_writer.h"
#include "kappascope/store/schema/layer_probes.h"
#include "kappascope/store/schema/schema.h"
