#include "app/cli/worst.h"

#include <fmt/core.h>

#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "renderer/problems/problem_search.h"

namespace gs::cli {
namespace {

Json regions_json(const std::vector<PhotoRegion>& regions, const Capture& capture, double all) {
    Json out = Json::array();
    for (const PhotoRegion& r : regions)
        out.push_back({{"photo", capture.views[r.view].name},
                       {"x", r.rect.x0},
                       {"y", r.rect.y0},
                       {"width", r.rect.width()},
                       {"height", r.rect.height()},
                       {"psnr", number(r.psnr)},
                       {"mean_error", number(r.mean_error)},
                       {"error_share", number(all > 0 ? r.error_sum / all : 0)},
                       {"mean_alpha", number(r.mean_alpha)},
                       {"bare_pixels", r.bare}});
    return out;
}

Json gaussians_json(const FoundProblems& found, const Capture& capture) {
    Json out = Json::array();
    for (const BlamedGaussian& g : found.gaussians)
        out.push_back({{"row", g.row},
                       {"error", number(g.error)},
                       {"weight", number(g.weight)},
                       {"excess", number(g.excess)},
                       {"photos", g.photos},
                       {"opacity", number(static_cast<double>(g.opacity))},
                       {"size", number(static_cast<double>(g.size))},
                       {"worst_photo", capture.views[g.view].name}});
    return out;
}

Json floaters_json(const FoundProblems& found, const Capture& capture) {
    Json out = Json::array();
    for (const Floater& f : found.floaters)
        out.push_back({{"gaussians", f.rows.size()},
                       {"row", f.row},
                       {"weight", number(f.weight)},
                       {"error", number(f.error)},
                       {"photos", f.photos},
                       {"nearness", number(f.nearness)},
                       {"near", f.near},
                       {"apart", f.apart},
                       {"photo", capture.views[f.view].name}});
    return out;
}

void print_worst(const Json& worst) {
    static constexpr Column kRegions[] = {
        {"photo", "{photo}", true},         {"at", "{x},{y}"},
        {"size", "{width} x {height}"},     {"PSNR dB", "{psnr:.2f}"},
        {"mean error", "{mean_error:.4f}"}, {"of all errors", "{error_share:percent}"}};
    static constexpr Column kHoles[] = {{"photo", "{photo}", true},
                                        {"at", "{x},{y}"},
                                        {"size", "{width} x {height}"},
                                        {"bare pixels", "{bare_pixels}"},
                                        {"mean alpha", "{mean_alpha:.3f}"}};
    static constexpr Column kGaussians[] = {{"row", "#{row}"},
                                            {"error px", "{error:.1f}"},
                                            {"weight px", "{weight:.1f}"},
                                            {"excess px", "{excess:.1f}"},
                                            {"photos", "{photos}"},
                                            {"opacity", "{opacity:.3f}"},
                                            {"size", "{size:.4g}"},
                                            {"worst in", "{worst_photo}", true}};
    static constexpr Column kFloaters[] = {
        {"row", "#{row}"},      {"Gaussians", "{gaussians}"},   {"weight px", "{weight:.1f}"},
        {"photos", "{photos}"}, {"nearness", "{nearness:.3f}"}, {"seen by", "{photo}", true}};
    const auto list = [&](const char* key, const char* title, std::span<const Column> columns) {
        if (worst[key].empty()) return fmt::print("\n{}: none\n", title);
        fmt::print("\n{}\n", title);
        say_table(worst[key], columns, {.indent = "  "});
    };
    list("regions", "worst regions", kRegions);
    list("holes", "holes: the photo shows something, the model nothing", kHoles);
    list("floaters", "floaters: near a camera or isolated, seen by few", kFloaters);
    list("by_gaussian", "Gaussians that take part in the largest errors", kGaussians);
}

}  // namespace

Json tell_worst(std::shared_ptr<const GaussianModel> model, std::shared_ptr<const Capture> capture,
                std::vector<std::size_t> views, Rasterizer& rasterizer,
                const RenderOptions& options, std::size_t most) {
    ProblemSearch search(std::move(model), std::move(capture), std::move(views), rasterizer,
                         options, {most, most, most, most, false});
    ProgressLine progress("find the worst");
    do {
        progress.update(search.done(), search.total(), "");
        if (interrupted()) return nullptr;
    } while (search.next());
    progress.finish();
    const FoundProblems& found = search.found();
    Json out{{"photos", found.photos},
             {"mean_error", number(found.mean_error)},
             {"region_limit", number(found.region_limit)},
             {"floaters_seen_by_at_most", found.few_photos}};
    out["regions"] = regions_json(found.regions, search.capture(), found.error_sum);
    out["holes"] = regions_json(found.holes, search.capture(), found.error_sum);
    out["floaters"] = floaters_json(found, search.capture());
    out["by_gaussian"] = gaussians_json(found, search.capture());
    print_worst(out);
    return out;
}

}  // namespace gs::cli
