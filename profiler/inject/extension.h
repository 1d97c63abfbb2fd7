// The functions of NVTX's payload extension: schemas and enums are registered, ranges and marks
// come with their payloads alone. Ranges of NVTX's own functions that carry such payloads are in
// hooks.cpp. Called by entry.cpp.
#pragma once

#include "profiler/inject/nvtx_payload_abi.h"

namespace gs::inject {

/// Fills an extension's slots. False: it is another extension than this, or has none.
bool take_extension(nvtx::ExtensionModule& module) noexcept;

}  // namespace gs::inject
