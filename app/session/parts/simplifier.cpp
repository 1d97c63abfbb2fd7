#include "app/session/parts/simplifier.h"

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
    if (!ctx_.scene) return ctx_.events.error("nothing to simplify: open a scene first");
    if (ctx_.scene->trainer)
        return ctx_.events.error(
            "a training run cannot be simplified: export the splats and open them");
    if (ctx_.scene->followed)
        return ctx_.events.error(
            "a training of another process cannot be simplified: export its splats and open them");
    if (ctx_.scene->levels)
        return ctx_.events.error(
            "a streamed set cannot be simplified: convert one level and open it");
    if (count_flags(the<Editor>().flags()).locked > 0)
        return ctx_.events.error("locked Gaussians cannot be merged: unlock all of them first");
    const auto n = simplified_count(to, ctx_.scene->model->count);
    if (!n) return ctx_.events.error(n.error().text());
    if (ctx_.jobs.running("simplify"))
        return ctx_.events.error("splats are already being simplified");
    const std::uint64_t command = ctx_.events.command;
    const auto model = ctx_.scene->model;
    auto cameras =
        ctx_.scene->capture ? cameras_to_look_from(*ctx_.scene->capture) : std::vector<Camera>();
    if (cameras.empty()) cameras = cameras_to_look_from(*model);
    ctx_.jobs.start<Fewer>(
        {"simplify", "simplifying", command, true},
        [scene = std::make_shared<LoadedScene>(same_scene(*ctx_.scene)), model, n = *n,
         cameras = std::move(cameras),
         options = ctx_.options](const Progress& progress) -> Result<Fewer> {
            GS_TRY(const auto rasterizer, options.make_rasterizer());
            GS_TRY(auto fewer, simplified(*rasterizer, *model, n, cameras, progress));
            GS_TRY_VOID(show_model(*scene, std::make_shared<const GaussianModel>(std::move(fewer)),
                                   options));
            return Fewer{std::move(*scene), model->count};
        },
        [this, model, command](Fewer fewer) {
            if (ctx_.scene->model != model)
                return ctx_.events.error(
                    "the splats were edited during the simplification: run it again", command);
            const std::string what =
                fmt::format("{} to {}", counted_gaussians(fewer.before),
                            format_count(static_cast<double>(fewer.scene.model->count)));
            the<Editor>().adopt_whole(std::move(fewer.scene), {}, "simplify " + what);
            ctx_.events.done("simplified " + what, true, {}, command);
        },
        ctx_.events.if_failed("simplification cancelled; the splats are unchanged"));
}

}  // namespace gs
