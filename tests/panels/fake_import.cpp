// A capture about to be opened, made up.
#include "tests/panels/fake_snapshot.h"

namespace gs::test {

void put_import(Snapshot& snapshot) {
    ImportState out{.path = "/data/captures/fox",
                    .found = {{"Kind", "transforms.json"},
                              {"Photos", "50 (43 to train on, 7 to test)"},
                              {"Size", "up to 534 x 949 pixels as loaded"},
                              {"Cameras", "1 lens"},
                              {"Sparse points", "10,000, random"},
                              {"Masks", "none"}},
                    .findings = {{"random-points",
                                  Severity::warning,
                                  "no points came with the capture",
                                  1,
                                  {},
                                  "training begins from noise",
                                  "run COLMAP",
                                  false}},
                    .skipped = {"0031.jpg: truncated JPEG at byte 40960"}};
    using Kind = ImportState::Choice::Kind;
    out.choices = {
        {"strategy",
         "Strategy",
         "How the number of Gaussians grows",
         "mcmc",
         "adaptive",
         {{"", "adaptive (3DGS)"}, {"mcmc", "MCMC"}},
         Kind::one_of},
        {"downscale", "Downscale", "By a factor", "2", "auto", {{"", "auto"}, {"2", "half"}}},
        {"test-every", "Test photos", "Held out", "", "every 8th", {{"4", "every 4th"}}},
        {"steps", "Steps", "In all", "7000", "30000", {{"7000", "7,000"}}, Kind::number},
        {"output", "Folder", "Of the run", "", "runs/fox-2026-11-26-2 (new)", {}}};
    out.forecast = {{"Photos", "72.4 MiB, plus 12 MiB while reading"},
                    {"Training", "26 MiB at first, 11.2 GiB with 5.00 M Gaussians"},
                    {"Time", "unknown: nothing trained in this session yet"}};
    out.command_line = "gausscope train /data/captures/fox --downscale 2 --steps 7000 --view";
    snapshot.import = std::make_shared<const ImportState>(std::move(out));
}

}  // namespace gs::test
