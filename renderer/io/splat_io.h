// Splat files in and out, behind one registry: a format is chosen by content first, by name second.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "renderer/base/expected.h"
#include "renderer/base/file.h"
#include "renderer/io/capture_io.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

struct SplatFile {
    GaussianModel model;
    std::string format;              ///< "3DGS PLY (binary)"
    std::vector<std::string> notes;  ///< what was missing, ignored or repaired, with counts
};

struct SplatFormat {
    std::string name;  ///< "ply"
    std::string description;
    std::vector<std::string> extensions;  ///< with the dot, lower case
    bool (*recognises)(std::span<const std::byte> first_bytes, const fs::path& path) = nullptr;
    Result<SplatFile> (*read)(const fs::path& path, const Progress& progress) = nullptr;
    Result<void> (*write)(const fs::path& path, const GaussianModel& model) = nullptr;  ///< null: read only
};

std::span<const SplatFormat> splat_formats();
bool is_splat_file(const fs::path& path);
Result<SplatFile> read_splats(const fs::path& path, const Progress& progress = {});
Result<void> write_splats(const fs::path& path, const GaussianModel& model);

}  // namespace gs
