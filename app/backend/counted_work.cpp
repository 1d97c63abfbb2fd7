#include "app/backend/counted_work.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/raster/warp_sums.h"

namespace gs {
namespace {

/// A count's name in JSON. `needed`: required.
struct WorkCount {
    const char* name;
    double FrameWork::*value;
    bool needed = false;
};
constexpr WorkCount kWorkCounts[] = {{"gaussians", &FrameWork::gaussians, true},
                                     {"candidates", &FrameWork::candidates, true},
                                     {"visible", &FrameWork::visible, true},
                                     {"isects", &FrameWork::isects, true},
                                     {"evaluated_pairs", &FrameWork::evaluated},
                                     {"blended_pairs", &FrameWork::blended},
                                     {"pixels", &FrameWork::pixels, true},
                                     {"tiles", &FrameWork::tiles, true},
                                     {"batches", &FrameWork::batches},
                                     {"group_tests", &FrameWork::group_tests},
                                     {"near", &FrameWork::near},
                                     {"open", &FrameWork::open},
                                     {"live_isects", &FrameWork::live_isects},
                                     {"live_sub_tiles", &FrameWork::live_sub_tiles}};
/// The same of beams.
constexpr struct {
    const char* name;
    double BeamWork::*value;
} kBeamCounts[] = {{"rays", &BeamWork::rays},     {"tiles", &BeamWork::tiles},
                   {"listed", &BeamWork::listed}, {"pairs", &BeamWork::pairs},
                   {"walked", &BeamWork::walked}, {"longest", &BeamWork::longest},
                   {"met", &BeamWork::met},       {"every", &BeamWork::every}};
constexpr std::size_t kMostTiles = 1u << 22;

double whole(std::uint64_t n) { return static_cast<double>(n); }

}  // namespace

RenderCounters mean_counters(std::span<const RenderCounters> frames) {
    CHECK(!frames.empty());
    RenderCounters sum;
    for (const RenderCounters& c : frames) {
        sum.gaussians += c.gaussians;
        sum.candidates += c.candidates;
        sum.visible += c.visible;
        sum.isects += c.isects;
        sum.list_pairs += c.list_pairs;
        sum.evaluated_pairs += c.evaluated_pairs;
        sum.blended_pairs += c.blended_pairs;
        sum.longest_tile = std::max(sum.longest_tile, c.longest_tile);
        sum.warps += c.warps;
    }
    WarpWork& w = sum.warps;
    for (std::uint64_t* count :
         {&sum.gaussians, &sum.candidates, &sum.visible, &sum.isects, &sum.list_pairs,
          &sum.evaluated_pairs, &sum.blended_pairs, &w.batches, &w.group_tests, &w.near, &w.open,
          &w.live_isects, &w.live_sub_tiles})
        *count /= frames.size();
    return sum;
}

PredictedWork mean_work(std::span<const PredictedWork> frames) {
    CHECK(!frames.empty());
    PredictedWork out{.frame = frames.front().frame};
    for (const WorkCount& count : kWorkCounts) {
        double sum = 0;
        for (const PredictedWork& work : frames) sum += work.frame.*count.value;
        out.frame.*count.value = sum / whole(frames.size());
    }
    const PredictedWork* nearest = &frames.front();
    for (const PredictedWork& work : frames)
        if (std::fabs(work.frame.isects - out.frame.isects) <
            std::fabs(nearest->frame.isects - out.frame.isects))
            nearest = &work;
    for (const auto& count : kBeamCounts) {
        double sum = 0;
        for (const PredictedWork& work : frames) sum += work.beams.*count.value;
        out.beams.*count.value = sum / whole(frames.size());
    }
    out.tiles = nearest->tiles;
    out.sky = frames.front().sky;
    out.lens = std::ranges::any_of(frames, &PredictedWork::lens);
    out.unscented = std::ranges::any_of(frames, &PredictedWork::unscented);
    return out;
}

nlohmann::ordered_json json_of_work(const PredictedWork& work) {
    nlohmann::ordered_json out{{"cuda", work.frame.cuda},
                               {"sh_degree", work.frame.sh_degree},
                               {"lens", work.lens},
                               {"unscented", work.unscented},
                               {"sky", work.sky}};
    for (const WorkCount& count : kWorkCounts)
        out[count.name] = json_number(work.frame.*count.value);
    if (work.beams.rays > 0)
        for (const auto& count : kBeamCounts)
            out["beams"][count.name] = json_number(work.beams.*count.value);
    nlohmann::ordered_json tiles = nlohmann::ordered_json::array();
    for (const TileLoad& tile : work.tiles) tiles.push_back({tile.isects, tile.pairs});
    out["isects_and_pairs_of_tiles"] = std::move(tiles);
    return out;
}

Result<PredictedWork> work_of_json(const std::string& text, const std::string& origin) {
    GS_TRY(const nlohmann::json json, parse_json_object(std::as_bytes(std::span(text)), origin));
    PredictedWork out;
    const auto read = [&](const nlohmann::json& value, const char* name,
                          double& to) -> Result<void> {
        if (!value.is_number() || !(value.get<double>() >= 0) ||
            !std::isfinite(value.get<double>()))
            return fail(ErrorKind::malformed, origin,
                        fmt::format("\"{}\" is not a number of 0 or more", name),
                        "`gausscope predict SCENE -o work.json` writes such a file");
        to = value.get<double>();
        return {};
    };
    for (const WorkCount& count : kWorkCounts)
        if (const nlohmann::json& value = member(json, count.name);
            count.needed || !value.is_null())
            GS_TRY_VOID(read(value, count.name, out.frame.*count.value));
    if (const nlohmann::json& beams = member(json, "beams"); !beams.is_null())
        for (const auto& count : kBeamCounts)
            if (const nlohmann::json& value = member(beams, count.name);
                count.value != &BeamWork::every || !value.is_null())
                GS_TRY_VOID(read(value, count.name, out.beams.*count.value));
    const auto flag = [&](const char* name) {
        const nlohmann::json& value = member(json, name);
        return value.is_boolean() && value.get<bool>();
    };
    out.lens = flag("lens");
    out.unscented = flag("unscented");
    out.sky = flag("sky");
    out.frame.cuda = flag("cuda");
    out.frame.sh_degree = static_cast<int>(whole_number(member(json, "sh_degree"), 3).value_or(3));
    const nlohmann::json& tiles = member(json, "isects_and_pairs_of_tiles");
    for (std::size_t i = 0; tiles.is_array() && i < std::min(tiles.size(), kMostTiles); ++i) {
        const auto isects = whole_number(element(tiles[i], 0), UINT32_MAX);
        const nlohmann::json& pairs = element(tiles[i], 1);
        if (!isects || !pairs.is_number() || !(pairs.get<double>() >= 0))
            return fail(ErrorKind::malformed, origin,
                        fmt::format("tile {} is not [isects, pairs]", i));
        out.tiles.push_back({static_cast<std::uint32_t>(*isects), pairs.get<float>()});
    }
    return out;
}

}  // namespace gs
