// Spans as NVTX ranges of the domain "gausscope", so that Nsight and other NVTX tools show the same
// names. Called by the recorder only, and only when a tool listens; without the toolkit's headers
// it is never so.
#pragma once

namespace gs::detail {

/// Creates the domain; true when a tool is attached.
bool nvtx_listens() noexcept;

}  // namespace gs::detail
