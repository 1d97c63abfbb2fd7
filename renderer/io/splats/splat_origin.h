// The origin of splats that are far from zero (renderer/scene/origin.h): chosen by readers. Used by
// the readers beside it and by the registry.
#pragma once

#include <optional>
#include <span>

#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/origin.h"

namespace gs {

std::string origin_note(Vec3d origin);
/// Nothing else is in it: the doctor has a finding of its own.
bool is_origin_note(const std::string& note);
/// Of columns of positions, by a sample of them. `said`: by the file, whose positions may have been
/// moved since; it counts where most of them are nearer to it than to zero.
Vec3d origin_of_columns(std::span<const double> x, std::span<const double> y,
                        std::span<const double> z, const std::optional<Vec3d>& said);
/// Of a model whose positions are floats as the file has them: takes the origin out of them, and
/// notes it with the step that single precision had rounded them to. Nothing where there is one.
void settle_origin(SplatFile& file);

}  // namespace gs
