#include "app/session/simplifier.h"

#include "app/backend/simplify.h"
#include "base/format.h"
#include "base/try.h"

namespace gs {
namespace {

struct Fewer {
    LoadedScene scene;
    std::size_t before = 0;
};

}  // namespace

void Simplifier::start(const std::string& to) {
    if (!lent_.scene) return lent_.tell.error("nothing is open that could be simplified");
    if (lent_.scene->trainer)
        return lent_.tell.error(
            "a training run is not simplified: export the splats and open those");
    if (lent_.scene->levels)
        return lent_.tell.error(
            "a streamed set is not simplified: convert one level, and open that");
    if (editor_.locked() > 0)
        return lent_.tell.error("locked Gaussians cannot be merged: unlock all of them first");
    const auto n = simplified_count(to, lent_.scene->model->count);
    if (!n) return lent_.tell.error(n.error().text());
    if (lent_.jobs.running("simplify"))
        return lent_.tell.error("splats are being simplified already");
    const std::uint64_t command = lent_.tell.command;
    const auto model = lent_.scene->model;
    auto cameras =
        lent_.scene->capture ? cameras_to_look_from(*lent_.scene->capture) : std::vector<Camera>();
    if (cameras.empty()) cameras = cameras_to_look_from(*model);
    lent_.jobs.start<Fewer>(
        {"simplify", "simplifying", command, true},
        [scene = std::make_shared<LoadedScene>(same_scene(*lent_.scene)), model, n = *n,
         cameras = std::move(cameras),
         options = lent_.options](const Progress& progress) -> Result<Fewer> {
            GS_TRY(const auto rasterizer, options.make_rasterizer());
            GS_TRY(auto fewer, simplified(*rasterizer, *model, n, cameras, progress));
            GS_TRY_VOID(show_model(*scene, std::make_shared<const GaussianModel>(std::move(fewer)),
                                   options));
            return Fewer{std::move(*scene), model->count};
        },
        [this, model, command](Fewer fewer) {
            if (lent_.scene->model != model)
                return lent_.tell.error(
                    "the splats were edited while they were simplified: simplify again", command);
            const std::string what =
                fmt::format("simplified {} to {}", counted_gaussians(fewer.before),
                            format_count(static_cast<double>(fewer.scene.model->count)));
            editor_.adopt_whole(std::move(fewer.scene), {}, what, command);
            lent_.tell.done(what, true, {}, command);
        },
        [this, command](const Error& error) {
            lent_.tell.failed(error, "simplifying was cancelled, the splats are as before",
                              command);
        });
}

}  // namespace gs
