// The page is assets/web/scene.html with the scene as a SOG in it, its images in base64 (RFC 4648).
#include <fmt/core.h>

#include "base/assets.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/sog.h"
#include "renderer/scene/model_place.h"

namespace gs {
namespace {

std::string base64(std::span<const std::byte> bytes) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < n; ++k)
            bits |= std::to_integer<std::uint32_t>(bytes[i + k]) << (16 - 8 * k);
        for (std::size_t k = 0; k < 4; ++k)
            out += k <= n ? kLetters[bits >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

/// JSON for within a page's script, which "</script>" in a name would end.
std::string within_script(std::string json) {
    for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;)
        json.replace(at, 1, "\\u003c");
    return json;
}

}  // namespace

Result<SplatNotes> write_splat_html(const fs::path& path, const GaussianModel& model,
                                    const SplatWriteOptions& options) {
    SplatNotes notes;
    SplatRows rows = drawable_rows(model, notes);
    sort_along_curve(model, rows);
    GS_TRY(const SogFiles sog, encode_sog(path, model, rows, options, notes));
    const PathPlace place = place_of(model);
    nlohmann::json scene{{"title", path.stem().string()},
                         {"view",
                          {{"center", {place.center.x, place.center.y, place.center.z}},
                           {"distance", place.radius},
                           {"pitch", place.elevation},
                           {"fov_y", place.fov_y}}}};
    for (const SogFiles::Image& image : sog.images)
        scene["images"][image.name] = base64(image.bytes);
    std::string page = asset("web/scene.html").text;
    constexpr std::string_view kMark = "/*SCENE*/";
    const std::size_t at = page.find(kMark);
    if (at == std::string::npos)
        return fail(ErrorKind::malformed, "assets/web/scene.html",
                    "has no mark /*SCENE*/ for the scene",
                    "remove your own copy of the page, or add the mark");
    page.replace(
        at, kMark.size(),
        within_script(fmt::format(R"({{"meta":{},"scene":{}}})", sog.meta, json_text(scene))));
    GS_TRY_VOID(write_text_file(path, page));
    notes.emplace_back("the page holds a SOG; it needs a browser with WebGL 2");
    return notes;
}

}  // namespace gs
