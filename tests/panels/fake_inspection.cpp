#include "tests/panels/fake_inspection.h"

#include <cmath>
#include <limits>

namespace gs::test {
namespace {

PixelEntry entry_of(std::uint64_t i, PixelReport& pixel) {
    PixelEntry e;
    const auto n = static_cast<double>(i);
    e.row = 1741 * (i + 3) % 398'214;
    e.depth = 3.1 + 0.07 * n;
    e.opacity = 0.95 - 0.02 * n;
    e.mean = {412.0 + 3 * std::sin(n), 300.0 + 4 * std::cos(n)};
    e.conic = {0.04 + 0.002 * n, 0.01, 0.02};
    e.color = {0.5 + 0.4 * std::sin(n), 0.5 + 0.3 * std::sin(1.7 * n), 0.3};
    e.before = pixel.transmittance;
    e.alpha = i % 3 == 1 ? 0.002 : 0.31 + 0.1 * std::sin(n);
    e.fate = i % 3 == 1 ? (i % 2 == 0 ? PixelFate::outside : PixelFate::faint)
             : i > 31   ? PixelFate::after
             : i == 31  ? PixelFate::ends
                        : PixelFate::blended;
    if (e.fate == PixelFate::blended) {
        e.weight = e.before * e.alpha;
        e.v_alpha = -2e-6 * e.before;
        e.share = e.weight;
        pixel.transmittance -= e.weight;
        ++pixel.contributors;
        pixel.color += e.contribution();
        pixel.depth += e.weight * e.depth;
    }
    e.running = pixel.color;
    return e;
}

}  // namespace

std::shared_ptr<const PixelInspection> fake_inspection() {
    auto answer = std::make_shared<PixelAnswer>();
    PixelReport& r = answer->report;
    r.x = 412;
    r.y = 300;
    for (std::uint64_t i = 0; i < 40; ++i) r.entries.push_back(entry_of(i, r));
    r.alpha = 1 - r.transmittance;
    r.median_depth = 3.24;
    r.fragile = true;
    r.tile.column = 25;
    r.tile.row = 18;
    r.tile.x0 = 400;
    r.tile.y0 = 288;
    r.tile.width = r.tile.height = 16;
    r.tile.listed = 40;
    for (std::uint32_t i = 0; i < 256; ++i) r.tile.stops.push_back(20 + (i % 16) + i / 40);
    for (const std::uint32_t stop : r.tile.stops) r.tile.evaluated += stop;
    r.tile.blended = 2310;
    answer->camera = look_at({1.2, -0.4, 4}, {0, 0, 0}, {0, -1, 0}, 1296, 968, 0.7);
    answer->view = "IMG_0021.jpg";
    answer->step = 12400;
    answer->profile = "tight";
    answer->milliseconds = 6.4;
    answer->photo = PixelPhoto{{0.61, 0.52, 0.33}, {1.2e-7, -3.1e-8, 4.4e-9}, 0.2, false};
    auto tiles = std::make_shared<TileTable>();
    tiles->camera = answer->camera;
    tiles->tiles = 81 * 61;
    tiles->step = 12400;
    tiles->view = "IMG_0021.jpg";
    tiles->pairs = 41'000'000;
    tiles->timed = true;
    tiles->us = 41'200;
    for (int i = 0; i < 30; ++i) {
        const auto n = static_cast<std::uint32_t>(i);
        tiles->worst.push_back({25 + i % 7, 18 - i % 5, 1460 - 31 * n, 301'000 - 7'300 * n,
                                61'000 - 1'100 * n, 310 - 6.7 * i});
    }
    PixelInspection out{.pixel = answer, .tiles = tiles};
    return std::make_shared<const PixelInspection>(out);
}

std::shared_ptr<const PixelInspection> nonsense_inspection() {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN(),
                     kEndless = std::numeric_limits<double>::infinity();
    PixelInspection out = *fake_inspection();
    PixelAnswer answer = *out.pixel;
    for (PixelEntry& e : answer.report.entries) {
        e.color = {kNone, -kEndless, 1e300};
        e.conic = {-1, kNone, kEndless};
        e.depth = e.opacity = e.share = kNone;
    }
    answer.report.color = {kNone, kEndless, -1e300};
    answer.report.tile.stops.clear();
    answer.report.tile.listed = std::numeric_limits<std::uint64_t>::max();
    answer.view = std::string(400, '%');
    out.pixel = std::make_shared<const PixelAnswer>(answer);
    out.marked = answer.report.entries[3].row;
    return std::make_shared<const PixelInspection>(out);
}

}  // namespace gs::test
