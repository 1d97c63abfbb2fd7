// What learning exposure and colour is worth, and costs: a capture's photos are spoilt in memory by
// a known amount, and trained with and without it, as are the clean ones.
//   build/tests/appearance_bench CAPTURE DOWNSCALE STEPS [all | clean | light | camera [MODE|-
//   [SETTING=VALUE ...]]]
// A line a run: PSNR of the test photos, the same after a fit of colours on their left halves, how
// far the learned stops are from those of the clean photos and what was done to them (means over
// photos taken out; of the clean ones: their own), the same error of exposures without what a
// photo's neighbours have of it, milliseconds a step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>

#include "renderer/raster/rasterizer.h"
#include "tests/bench/trained.h"
#include "tests/support/spoilt_photos.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

/// Stops of a grey scene through what was learned, against the camera alone.
std::array<double, 3> learned_stops(const AppearanceState& state, const AppearanceRows& rows,
                                    std::size_t view, AppearanceMode mode) {
    const auto through = [&](const AppliedLook& look) {
        std::array<float, 3> rgb{0.35f, 0.35f, 0.35f};
        math::apply_look(look.look, look.simple, 0.0f, 0.0f, rgb.data());
        return rgb;
    };
    TrainingSettings settings;
    settings.appearance = mode;
    const auto photo =
        through(look_of_photo(state.values.data(), appearance_plan(settings, rows, view, 0)));
    const auto camera = look_of_camera(state, rows, view, mode);
    const auto plain = camera ? through(*camera) : std::array<float, 3>{0.35f, 0.35f, 0.35f};
    std::array<double, 3> out{};
    for (std::size_t c = 0; c < 3; ++c)
        out[c] = std::log2(static_cast<double>(photo[c] / plain[c]));
    return out;
}

using Stops = std::vector<std::array<double, 3>>;  // by photo
Stops stops_of(const Trainer& trainer, AppearanceMode mode) {
    Stops out;
    const AppearanceRows rows(trainer.capture());
    const AppearanceState state = trainer.backend().appearance();
    for (const std::size_t v : rows.view_of_photo)
        out.push_back(learned_stops(state, rows, v, mode));
    return out;
}

struct Errors {
    double worst_exposure = 0, mean_exposure = 0, mean_balance = 0, beside_neighbours = 0;
};
/// Errors of the learned stops relative to the applied ones, each without its mean. Photos have
/// exposures of their own: `own`, learned from the clean photos, is subtracted first.
Errors errors_of(Stops learned, const Stops& own, const Capture& capture, const Spoilt& truth,
                 double gamma) {
    const auto n = static_cast<double>(learned.size());
    const AppearanceRows rows(capture);
    const std::vector<std::size_t>& views = rows.view_of_photo;
    std::array<double, 3> mean{};
    for (std::size_t p = 0; p < learned.size(); ++p)
        for (std::size_t c = 0; c < 3; ++c) {
            learned[p][c] -= gamma * (truth[views[p]][c] + (own.empty() ? 0 : own[p][c]));
            mean[c] += learned[p][c] / n;
        }
    Errors out;
    for (auto& row : learned) {
        for (std::size_t c = 0; c < 3; ++c) row[c] -= mean[c];
        const double exposure = (row[0] + row[1] + row[2]) / 3;
        out.worst_exposure = std::max(out.worst_exposure, std::abs(exposure));
        out.mean_exposure += std::abs(exposure) / n;
        out.mean_balance += (std::abs(row[0] - exposure) + std::abs(row[2] - exposure)) / (2 * n);
    }
    const auto neighbours = photo_neighbours(capture, rows);
    const auto exposure = [&](std::size_t p) {
        return (learned[p][0] + learned[p][1] + learned[p][2]) / 3;
    };
    for (std::size_t p = 0; p < learned.size(); ++p) {
        double near = 0;
        for (int k = 0; k < math::kNeighbours; ++k)
            near += static_cast<double>(neighbours[p].share[k]) * exposure(neighbours[p].photo[k]);
        out.beside_neighbours += std::abs(exposure(p) - near) / n;
    }
    return out;
}

/// What was learned.
Stops run(const Capture& clean, const Spoiling* how, const char* name, AppearanceMode mode,
          double steps, const NamedValues& more, const Stops& own) {
    auto capture = std::make_shared<Capture>(clean);
    const Spoilt truth = how ? spoil_photos(*capture, *how) : Spoilt(clean.views.size());
    NamedValues given{{"steps", steps}, {"appearance", static_cast<double>(mode)}};
    given.insert(given.end(), more.begin(), more.end());
    const Trained trained = train(capture, given);
    Trainer& trainer = *trained.trainer;
    const Evaluation score = trainer.evaluate(capture->view_indices(true), {}, true);
    std::string found;
    Stops learned;
    if (mode != AppearanceMode::none) {
        learned = stops_of(trainer, mode);
        const Errors e = errors_of(learned, own, *capture, truth, how ? how->gamma : 1);
        found = fmt::format(
            ", exposure {:.4f} mean {:.4f} worst {:.4f} beside neighbours, balance {:.4f} stops",
            e.mean_exposure, e.worst_exposure, e.beside_neighbours, e.mean_balance);
    }
    fmt::print("{:28} {:8} {:6.2f} dB, fitted {:6.2f} dB, {:6} Gaussians, {:5.1f} ms{}\n", name,
               find_setting("appearance")->text(static_cast<double>(mode)), score.psnr,
               score.psnr_fitted, trainer.gaussian_count(), 1000 * trained.seconds / steps, found);
    std::fflush(stdout);
    return learned;
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    using namespace gs;
    if (argc < 4) {
        fmt::print(
            "appearance_bench CAPTURE DOWNSCALE STEPS [all | clean | light | camera [MODE|- "
            "[SETTING=VALUE ...]]]\n");
        return 2;
    }
    const Capture capture = capture_at(argv[1], std::atoi(argv[2]));
    const double steps = std::atof(argv[3]);
    const std::string which = argc > 4 ? argv[4] : "all";
    const std::string only = argc > 5 && argv[5] != std::string("-") ? argv[5] : "";
    const NamedValues more = values_from(argc, argv, 6);
    using enum AppearanceMode;
    const Spoiling light{.stops = 0.5, .balance = 0.12},
        camera{.stops = 0.5, .balance = 0.12, .vignette = 0.4, .gamma = 0.8};
    for (const AppearanceMode mode : {none, exposure, ppisp}) {
        if (!only.empty() && only != find_setting("appearance")->text(static_cast<double>(mode)))
            continue;
        const auto wanted = [&](const char* name) { return which == "all" || which == name; };
        const Stops own = run(capture, nullptr, "clean", mode, steps, more, {});
        if (wanted("light"))
            (void)run(capture, &light, "exposure, balance", mode, steps, more, own);
        if (wanted("camera"))
            (void)run(capture, &camera, "and vignette, gamma", mode, steps, more, own);
    }
    return 0;
}
