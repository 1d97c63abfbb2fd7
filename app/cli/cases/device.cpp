// Cases of a device only: lists of a picture too large to be blended in a test, lists of enough
// Gaussians that blocks look back for several turns; and the list of all cases.
#include <fmt/core.h>

#include <numbers>

#include "app/cli/cases/cases.h"
#include "app/cli/cases/scenes.h"
#include "app/cli/check/proof_scene.h"
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

/// Lists in which radix_pass looks back over more than its first 8 blocks (27,648 pairs), compact
/// and count over more than their first 32 (67,584 Gaussians), on a device that has many blocks
/// under way at once.
struct LookBack {
    const char* name;
    ProofScene scene;
    int width, height;
};
constexpr LookBack kLookBacks[] = {
    {"large: lists of 300,000 Gaussians, three times", {300'000, 0, 73, 0.002f, 0.02f}, 1920, 1080},
    {"large: lists of 200,000 Gaussians in six tiles", {200'000, 0, 74, 0.002f, 0.01f}, 48, 32},
    {"large: lists of 200,000 Gaussians by 32-bit tiles",
     {200'000, 0, 75, 0.001f, 0.01f},
     4112,
     4112},
};

CheckRow check_look_back(int index, const LookBack& asked) {
    constexpr std::size_t kTimes = 3, kLeastVisible = 67'584, kLeastPairs = 27'648;
    const GaussianModel model = make_proof_model(asked.scene);
    const Camera camera = make_proof_camera(asked.scene.seed, 0, asked.width, asked.height);
    std::size_t wrong = 0, unsorted = 0, others = 0;
    ListsCheck first;
    for (std::size_t i = 0; i < kTimes; ++i) {
        const auto r = check_cuda_lists(model, camera, index);
        if (!r) return {"CUDA", {}, r.error().text(), false};
        if (i == 0) first = *r;
        wrong += r->wrong;
        unsorted += r->unsorted;
        others += r->hash != first.hash ? 1 : 0;
    }
    return {"CUDA",
            {},
            fmt::format("{} pairs of {} Gaussians, {} times: {} listed wrong, {} out of order, {} "
                        "with other bits than the first",
                        first.isects, first.visible, kTimes, wrong, unsorted, others),
            first.visible > kLeastVisible && first.isects > kLeastPairs && wrong == 0 &&
                unsorted == 0 && others == 0};
}

}  // namespace

void add_device_cases(CaseList& list, const Backend& backend) {
    if (!backend.cuda) return;
    for (const bool around : {false, true})
        add_case(list,
                 fmt::format("device: lists of more tiles than 16 bits number{}",
                             around ? ", around a panorama" : ""),
                 [index = backend.device, around] { return check_wide_lists(index, around); });
    for (const LookBack& one : kLookBacks)
        add_case(list, one.name,
                 [index = backend.device, &one] { return check_look_back(index, one); });
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
