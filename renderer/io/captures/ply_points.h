// Sparse points from a PLY: x y z and, where present, colours of any type. Used for transforms.json
// captures and, writing, by exports of cameras and bundles.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/captures/capture_source.h"

namespace gs {

struct PlyPoints {
    std::vector<SourcePoint> points;
    bool have_colors = false;
};
/// Points without a finite position are dropped and counted in `notes`. Colours are red green blue
/// (or r g b, diffuse_red ..., f_dc_0 ...), whatever their type: fractions of 1, bytes or 16 bits,
/// by the largest of them.
Result<PlyPoints> read_ply_points(const fs::path& path, std::vector<std::string>& notes);

/// The capture's points where its files have them: its origin is added.
std::vector<SourcePoint> world_points(const Capture& capture);
/// A coordinate in as few digits as keep it.
std::string position_text(double x);
/// As text, with normals of zero, which INRIA's reader asks for, and double positions where the
/// capture has an origin. Errors: unwritable.
Result<void> write_ply_points(const fs::path& path, const Capture& capture);

}  // namespace gs
