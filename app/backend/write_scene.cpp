#include "app/backend/write_scene.h"

#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/edit/merge.h"
#include "renderer/raster/measure_levels.h"
#include "renderer/scene/origin.h"

namespace gs {

MeasureLevels rendered_errors() {
    return [rasterizer = std::shared_ptr<Rasterizer>(make_cpu_rasterizer())](
               std::span<const GaussianModel> levels, Vec3d lo, Vec3d hi) {
        return measure_levels(*rasterizer, levels, lo, hi);
    };
}

bool is_level_set(const fs::path& path) { return path.filename() == "lod-meta.json"; }

Result<SplatNotes> write_scene(const fs::path& path, const GaussianModel& model,
                               const SplatWriteOptions& options) {
    if (!is_level_set(path)) return write_splats(path, model, options);
    const Span span{Stage::export_splats, model.count};
    GS_TRY(auto levels, levels_of(model, options.progress));
    for (GaussianModel& level : levels) level.origin = {};
    GS_TRY(SplatNotes notes, write_level_set(path, levels, options, rendered_errors()));
    if (!is_zero(model.origin))
        notes.push_back(
            fmt::format("a set of levels cannot store the origin {}: positions are relative to it",
                        text_of_origin(model.origin)));
    if (!model.sky.empty()) notes.emplace_back("a set of levels cannot store the learned sky");
    return notes;
}

}  // namespace gs
