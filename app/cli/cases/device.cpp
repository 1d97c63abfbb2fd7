// What only a device has: lists of a picture too large to be blended for a test, and the list of
// all cases.
#include <fmt/core.h>

#include <numbers>

#include "app/cli/cases/cases.h"
#include "app/cli/cases/scenes.h"
#include "app/cli/proof_scene.h"
#include "renderer/raster/cuda/lists_check.h"

namespace gs::cli {
namespace {

CheckRow check_wide_lists(int index, bool around) {
    CaseScene scene{make_proof_model({40, 0, 71, 0.02f, 0.05f}),
                    make_proof_camera(71, 0, 4112, 4112)};
    if (around)
        scene =
            through_lens(std::move(scene), CameraModel::equirectangular, 2 * std::numbers::pi, {});
    const auto r = check_cuda_lists(scene.model, scene.camera, index);
    if (!r) return {"CUDA", {}, r.error().text(), false};
    return {"CUDA",
            {},
            fmt::format("{} tiles, {} pairs of {} Gaussians: {} listed wrong, {} out of order",
                        r->tiles, r->isects, r->visible, r->wrong, r->unsorted),
            r->tiles > 65535 && r->isects > 0 && r->wrong == 0 && r->unsorted == 0};
}

}  // namespace

void add_device_cases(CaseList& list, const Backend& backend) {
    if (!backend.cuda) return;
    for (const bool around : {false, true})
        add_case(list,
                 fmt::format("device: lists of more tiles than 16 bits number{}",
                             around ? ", around a panorama" : ""),
                 [index = backend.device, around] { return check_wide_lists(index, around); });
}

void add_case(CaseList& list, std::string name, std::function<CheckRow()> check) {
    list.push_back({name, [name, check = std::move(check)] {
                        CheckRow row = check();
                        row.name = name;
                        return row;
                    }});
}

void add_cases(CaseList& list, const Backend& backend) {
    add_frame_cases(list, backend);
    add_blend_cases(list, backend);
    add_viewer_cases(list, backend);
    add_training_cases(list, backend);
    add_density_cases(list, backend);
    add_device_cases(list, backend);
}

}  // namespace gs::cli
