// The GPUs of this process for the ring's table: what the occupancy of a kernel follows from. Asked
// of the CUDA driver that the program has initialised, by attribute; needs no context and starts
// nothing.
#pragma once

namespace gs::inject::cupti {

/// Writes the table. False: CUDA is not initialised yet, or reports nothing; ask again.
bool publish_gpu_devices() noexcept;

}  // namespace gs::inject::cupti
