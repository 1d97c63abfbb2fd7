// The readers and writers of every splat format, a file or two each, and nothing more;
// splat_registry.cpp lists them. Facts about each format are in its .cpp. Reading gives PLY axes;
// writing leaves out what cannot be drawn (NaN, infinite positions) where a format quantises, and
// says so.
#pragma once

#include <span>

#include "renderer/io/files/input_file.h"
#include "renderer/io/splats/splat_io.h"

namespace gs {

using FirstBytes = std::span<const std::byte>;

bool recognises_splat_ply(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_splat_ply(const fs::path& path, const SplatReadOptions& options);
Result<SplatNotes> write_splat_ply(const fs::path& path, const GaussianModel& model,
                                   const SplatWriteOptions& options);

bool recognises_compressed_ply(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_compressed_ply(const fs::path& path, const SplatReadOptions& options);
Result<SplatNotes> write_compressed_ply(const fs::path& path, const GaussianModel& model,
                                        const SplatWriteOptions& options);

/// .splat has no header: a name and a size that fits, and numbers that could be splats.
bool recognises_dot_splat(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_dot_splat(const fs::path& path, const SplatReadOptions& options);
Result<SplatNotes> write_dot_splat(const fs::path& path, const GaussianModel& model,
                                   const SplatWriteOptions& options);

bool recognises_spz(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_spz(const fs::path& path, const SplatReadOptions& options);
/// One that is inside another file. `as_stored`: in whatever axes it has.
Result<SplatFile> read_spz_in(const InputFile& file, bool as_stored, const Progress& progress);
Result<SplatNotes> write_spz(const fs::path& path, const GaussianModel& model,
                             const SplatWriteOptions& options);

bool recognises_ksplat(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_ksplat(const fs::path& path, const SplatReadOptions& options);

bool recognises_sog(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_sog(const fs::path& path, const SplatReadOptions& options);
Result<SplatNotes> write_sog(const fs::path& path, const GaussianModel& model,
                             const SplatWriteOptions& options);

bool recognises_splat_lods(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_splat_lods(const fs::path& path, const SplatReadOptions& options);

bool recognises_splat_gltf(FirstBytes first_bytes, const fs::path& path);
Result<SplatFile> read_splat_gltf(const fs::path& path, const SplatReadOptions& options);
Result<SplatNotes> write_splat_gltf(const fs::path& path, const GaussianModel& model,
                                    const SplatWriteOptions& options);

bool recognises_splat_csv(FirstBytes first_bytes, const fs::path& path);
Result<SplatNotes> write_splat_csv(const fs::path& path, const GaussianModel& model,
                                   const SplatWriteOptions& options);

/// A page that draws the scene in a browser (WebGL 2), with everything in it.
Result<SplatNotes> write_splat_html(const fs::path& path, const GaussianModel& model,
                                    const SplatWriteOptions& options);

}  // namespace gs
