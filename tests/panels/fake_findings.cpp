// Of the fake snapshot, what is wrong: the worst places of photos, and the doctor's findings.
#include <cmath>

#include "panels/state/photo_problems.h"
#include "tests/panels/fake_inspection.h"

namespace gs::test {
namespace {

std::shared_ptr<const Image8> crops(std::size_t seed) {
    Image8 out{3 * 60, 50, 3, {}};
    for (int y = 0; y < out.height; ++y)
        for (int x = 0; x < out.width; ++x) {
            const int part = x / 60;
            const double r = std::hypot(x % 60 - 30.0, y - 25.0) / 22,
                         v = part == 2                ? std::exp(-r * r)
                             : (part == 0) == (r < 1) ? 0.25
                                                      : 0.7;
            const auto byte = static_cast<std::uint8_t>(255 * v);
            out.bytes.insert(out.bytes.end(),
                             {byte, static_cast<std::uint8_t>(part == 2 ? byte / 3 : byte),
                              static_cast<std::uint8_t>(part == 2 ? 30 : 40 + 37 * seed % 180)});
        }
    return std::make_shared<const Image8>(std::move(out));
}

}  // namespace

std::shared_ptr<const PhotoProblems> fake_problems() {
    FoundProblems found;
    found.photos = 48, found.gaussians_seen = 371'204;
    found.mean_error = 0.0231, found.error_sum = 48 * 960 * 640 * found.mean_error;
    found.region_limit = 0.061, found.few_photos = 2, found.apart_cell = 0.09;
    for (std::size_t i = 0; i < 14; ++i) {
        const int x = static_cast<int>(40 + 61 * i), y = static_cast<int>(20 + 37 * i);
        const double pixels = 20'000 - 1'300 * static_cast<double>(i);
        found.regions.push_back({(5 * i + 3) % 48,
                                 {x, y, x + 160, y + 120},
                                 pixels,
                                 0.2 * pixels,
                                 0.2,
                                 11.2 + 0.4 * static_cast<double>(i),
                                 0.97,
                                 0,
                                 i < 12 ? crops(i) : nullptr});
        if (i < 2) found.holes.push_back(found.regions.back());
        if (i < 2) found.holes.back().bare = 4'200 - 900.0 * static_cast<double>(i);
        BlamedGaussian g{.row = 7919 * (i + 1) % 398'214};
        g.error = 812.4 / static_cast<double>(i + 1), g.weight = 5 * g.error;
        g.excess = (static_cast<double>(i % 3) - 1) * g.error;
        g.photos = static_cast<unsigned>(41 - i), g.view = (3 * i + 1) % 48;
        g.opacity = 0.93F, g.size = 0.041F;
        found.gaussians.push_back(g);
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
        Floater f{.rows = {17 + i, 40 + i, 99}};
        f.row = 17 + i, f.weight = 941.0 / (i + 1), f.error = 120.5 / (i + 1);
        f.photos = 1 + i % 2, f.view = 9 * i, f.nearness = 0.08 * (i + 1);
        f.near = i != 1, f.apart = i > 0;
        found.floaters.push_back(std::move(f));
    }
    PointInPhotos point{{0.412, -0.233, 1.08}, {}, 48, 29, 6};
    for (std::size_t i = 0; i < 13; ++i)
        point.photos.push_back({(7 * i + 2) % 48,
                                480.5 + 11.0 * static_cast<double>(i),
                                300.25,
                                4.1,
                                0.21 / static_cast<double>(i + 1),
                                {},
                                crops(20 + i)});
    PhotoProblems out;
    out.serial = 3, out.crops = 1;
    out.found = std::make_shared<const FoundProblems>(std::move(found));
    out.point = std::make_shared<const PointInPhotos>(std::move(point));
    out.step = out.point_step = 12'000;
    out.seconds = 14.2;
    out.mark = {8, {330, 210, 490, 330}, "region 2: 11.60 dB"};
    return std::make_shared<const PhotoProblems>(std::move(out));
}

DoctorReport fake_doctor() {
    DoctorReport r{.serial = 1};
    r.findings = {{"not-finite-positions",
                   Severity::error,
                   "3 Gaussians have a position that is NaN or infinite",
                   3,
                   {"#17", "#18", "#4711"},
                   "they draw nothing, and some other programs fail on them",
                   "a fix removes them",
                   true,
                   true},
                  {"looking-away",
                   Severity::warning,
                   "2 views look away from every point",
                   2,
                   {"images/frame_00010.jpg", "images/frame_00024.jpg"},
                   "their poses are probably wrong, and wrong poses make floaters and blur",
                   "check the axes of the poses, or leave these photos away",
                   false},
                  {"photos-left-out",
                   Severity::warning,
                   "1 view is left out",
                   1,
                   {"images/frame_00101.jpg: truncated JPEG at byte 40960"},
                   "what only they show is missing",
                   "add the missing photos, or pose them again",
                   false},
                  {"invisible",
                   Severity::note,
                   "1,204 Gaussians are too transparent to be drawn (opacity below 1/255)",
                   1204,
                   {"#2", "#3"},
                   "memory and time for nothing",
                   "a fix removes them; the picture stays the same",
                   true,
                   true}};
    r.planned = true;
    r.now = {398'214, 2'000'000, 93'985'000, 194'000'000, 105'000'000, 220'000'000};
    r.at_cap = {5'000'000, 25'000'000, 1'180'000'000, 2'440'000'000, 1'310'000'000, 2'640'000'000};
    r.photo_bytes = 82'300'000;
    r.width = 960;
    r.height = 640;
    r.host = {4'000'000'000, 3'190'000};
    r.seconds = 0.31;
    r.can_fix = true;
    r.fixes = {"duplicates"};
    r.unsaved = true;
    r.changes = {"12 Gaussians removed as copies"};
    return r;
}

}  // namespace gs::test
