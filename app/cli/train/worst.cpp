#include "app/cli/train/worst.h"

#include <fmt/core.h>

#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "base/log.h"
#include "renderer/problems/problem_search.h"

namespace gs::cli {
namespace {

std::string row_number(double row) { return fmt::format("#{:.0f}", row); }

/// `holes`: with the figures of a hole, not of an error.
Table regions_table(const std::vector<PhotoRegion>& regions, const Capture& capture, double all,
                    bool holes) {
    using Row = PhotoRegion;
    const auto shown = [](bool is, const char* title) { return is ? title : ""; };
    const auto size = [](const Row& r) {
        return fmt::format("{} x {}", r.rect.width(), r.rect.height());
    };
    return table_of<Row>(
        std::span(regions),
        {{"photo", "photo", nullptr, [&capture](auto& r) { return capture.views[r.view].name; }},
         {"", "at", fixed<0>, [](auto& r) { return fmt::format("{},{}", r.rect.x0, r.rect.y0); }},
         {"", "size", fixed<0>, size},
         {"x", "", nullptr, [](auto& r) { return r.rect.x0; }},
         {"y", "", nullptr, [](auto& r) { return r.rect.y0; }},
         {"width", "", nullptr, [](auto& r) { return r.rect.width(); }},
         {"height", "", nullptr, [](auto& r) { return r.rect.height(); }},
         {"psnr", shown(!holes, "PSNR dB"), fixed<2>, &Row::psnr},
         {"mean_error", shown(!holes, "mean error"), fixed<4>, &Row::mean_error},
         {"error_share", shown(!holes, "of all errors"), format_share,
          [all](auto& r) { return all > 0 ? r.error_sum / all : 0; }},
         {"", shown(holes, "bare pixels"), argument, &Row::bare},
         {"mean_alpha", shown(holes, "mean alpha"), fixed<3>, &Row::mean_alpha},
         {"bare_pixels", "", nullptr, &Row::bare}});
}

Table gaussians_table(const std::vector<BlamedGaussian>& gaussians, const Capture& capture) {
    using Row = BlamedGaussian;
    return table_of<Row>(std::span(gaussians),
                         {{"row", "row", row_number, &Row::row},
                          {"error", "error px", fixed<1>, &Row::error},
                          {"weight", "weight px", fixed<1>, &Row::weight},
                          {"excess", "excess px", fixed<1>, &Row::excess},
                          {"photos", "photos", fixed<0>, &Row::photos},
                          {"opacity", "opacity", fixed<3>, &Row::opacity},
                          {"size", "size", significant<4>, &Row::size},
                          {"worst_photo", "worst in", nullptr,
                           [&capture](auto& g) { return capture.views[g.view].name; }}});
}

Table floaters_table(const std::vector<Floater>& floaters, const Capture& capture) {
    using Row = Floater;
    return table_of<Row>(
        std::span(floaters),
        {{"", "row", row_number, &Row::row},
         {"gaussians", "Gaussians", fixed<0>, [](auto& f) { return f.rows.size(); }},
         {"row", "", nullptr, &Row::row},
         {"weight", "weight px", fixed<1>, &Row::weight},
         {"error", "", nullptr, &Row::error},
         {"photos", "photos", fixed<0>, &Row::photos},
         {"nearness", "nearness", fixed<3>, &Row::nearness},
         {"near", "", nullptr, &Row::near},
         {"apart", "", nullptr, &Row::apart},
         {"photo", "seen by", nullptr,
          [&capture](auto& f) { return capture.views[f.view].name; }}});
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
    if (found.unread.count > 0) log_warning("{}", found.unread.words());
    Json out{{"photos", found.photos},
             {"unread", {{"photos", found.unread.count}, {"first", found.unread.first}}},
             {"mean_error", number(found.mean_error)},
             {"region_limit", number(found.region_limit)},
             {"floaters_seen_by_at_most", found.few_photos}};
    const auto list = [&out](const char* key, const char* title, const Table& table) {
        fmt::print("\n{}{}\n", title, table.rows == 0 ? ": none" : "");
        say_table(table, {.indent = "  "});
        out[key] = table_json(table);
    };
    const Capture& photos = search.capture();
    list("regions", "worst regions", regions_table(found.regions, photos, found.error_sum, false));
    list("holes", "holes: the photo shows something, the model nothing",
         regions_table(found.holes, photos, found.error_sum, true));
    list("floaters", "floaters: near a camera or isolated, seen by few",
         floaters_table(found.floaters, photos));
    list("by_gaussian", "Gaussians that take part in the largest errors",
         gaussians_table(found.gaussians, photos));
    return out;
}

}  // namespace gs::cli
