#include "tests/panels/fake_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gs::test {

std::shared_ptr<const PhotoLooks> fake_looks() {
    auto out = std::make_shared<PhotoLooks>();
    out->step = 12400;
    for (std::uint32_t i = 0; i < 60; ++i) {
        const double exposure = 0.35 * std::sin(0.21 * i) + 0.1 * std::sin(7.7 * i),
                     warm = 0.08 * std::cos(0.13 * i);
        out->photos.push_back({i,
                               fmt::format("images/frame_{:05}.jpg", i),
                               i % 2,
                               {exposure + warm, exposure, exposure - warm}});
    }
    for (const float power : {0.8F, 1.1F}) {
        CameraLook& camera = out->cameras.emplace_back();
        for (std::size_t c = 0; c < 3; ++c)
            for (int i = 0; i <= 32; ++i) {
                const float x = static_cast<float>(i) / 32, far = 0.71F * x;
                camera.vignette[c].push_back(
                    {far, 1 - (0.5F + 0.06F * static_cast<float>(c)) * far * far});
                camera.curve[c].push_back({x, std::pow(x, power + 0.05F * static_cast<float>(c))});
            }
    }
    return out;
}

std::shared_ptr<const LabState> fake_lab() {
    auto out = std::make_shared<LabState>();
    out->database = "strategies.db";
    out->read = true;
    out->suites = {"default", "nightly", "smoke", "time_to_quality"};
    out->names = {"main", "relocate", "bold", "default"};
    std::int64_t id = 0;
    for (const char* label : {"main", "relocate"})
        for (const char* scene : {"toys", "fox"})
            for (const char* settings : {"default", "bold"})
                for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                    LabRunRow row{.id = ++id};
                    row.label = label, row.suite = "nightly", row.scene = scene;
                    row.settings = settings, row.backend = "cpu", row.seed = seed;
                    const double s = static_cast<double>(seed),
                                 bold = row.settings == "bold" ? 1 : 0,
                                 moved = row.label == "relocate" ? 1 : 0;
                    row.psnr = 24 + 0.1 * s + 0.6 * bold + 0.4 * moved + (scene[0] == 'f' ? 2 : 0);
                    row.gaussians = 21000 + 300 * s + 9000 * bold - 2500 * moved;
                    row.training_s = 41 + s + 17 * bold + 3 * moved;
                    row.folder = fmt::format("/data/lab/runs/{}", id);
                    row.worst_photo = fmt::format("frame_{:05}.jpg", 7 * id);
                    row.worst_psnr = row.psnr - 3.4;
                    out->runs.push_back(row);
                }
    out->runs[5].failed = true;
    out->runs[5].error = "killed by signal 9: there was no memory left, or somebody ended it";
    std::reverse(out->runs.begin(), out->runs.end());
    LabComparison& c = out->compared.emplace();
    c.a = "main", c.b = "relocate", c.pairs = 12;
    c.metrics = {{"PSNR", "dB", false, 25.41, 25.83, 0.42, 0.31, 0.53, "better"},
                 {"SSIM", "", false, 0.872, 0.874, 0.002, -0.001, 0.005, "unclear"},
                 {"Gaussians", "", true, 26100, 23600, -9.6, -11.2, -8, "less"},
                 {"training", "s", true, 50.5, 53.6, 6.1, 3.9, 8.4, "worse"},
                 {"peak memory", "bytes", true, 4.1e8, 4.1e8, 0.1, -0.3, 0.5, "same"}};
    c.gates = {{"psnr_drop <= 0.05", "holds"}, {"training_rise <= 5", "undecided"}};
    for (int i = 0; i < 6; ++i)
        c.worst.push_back({i % 2 ? "fox" : "toys", fmt::format("frame_{:05}.jpg", 11 * i + 3),
                           3 + i, 15 + i, 23.4 - 0.3 * i, 23.1 - 0.3 * i});
    c.notes = {"the machine was not quiet during one pair"};
    return out;
}

}  // namespace gs::test
