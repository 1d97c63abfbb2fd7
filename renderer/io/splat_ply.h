// The .ply of 3D Gaussian Splatting, as written by the original program and most others. Registered in
// splat_registry.cpp. Columns: x y z, nx ny nz (unused), f_dc_0..2, f_rest_* (channel-major), opacity (logit),
// scale_0..2 (log), rot_0..3 (w x y z).
#pragma once

#include <span>

#include "renderer/io/splat_io.h"

namespace gs {

bool recognises_splat_ply(std::span<const std::byte> first_bytes, const fs::path& path);
/// Columns in any order and of any numeric type; degree 0..3. NaN and infinite values are kept and counted in the
/// notes.
Result<SplatFile> read_splat_ply(const fs::path& path, const Progress& progress);
/// In 3DGS's own column order, binary little-endian, streamed, atomic.
Result<void> write_splat_ply(const fs::path& path, const GaussianModel& model);

}  // namespace gs
