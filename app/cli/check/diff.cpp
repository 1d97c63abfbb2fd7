#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "base/file.h"
#include "base/log.h"
#include "base/try.h"
#include "trainer/checkpoint.h"
#include "trainer/replay/step_capture.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/step_file.h"
#include "trainer/step_hashes.h"
#include "trainer/step_record.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

struct DiffArguments {
    std::string a, b;
    std::uint64_t most_steps = 500;
};

void add_options(CLI::App& app, DiffArguments& a) {
    app.add_option("RUN_A", a.a, "folder of a run trained with --hashes")->required();
    app.add_option("RUN_B", a.b, "folder of another such run")->required();
    add_value(app, "--most-steps N", a.most_steps, whole_from(0, kMostSteps),
              "repeat at most N steps to find the Gaussian, 0 = none [500]");
}

/// One of the two.
struct Side {
    fs::path folder;
    HashFile hashes;
    TrainingSettings settings;
    std::optional<RunDescription> description;
};

Result<Side> read_side(const std::string& folder) {
    Side out;
    out.folder = folder;
    if (!folder_exists(folder)) return fail(ErrorKind::not_found, folder, "no such run folder");
    GS_TRY(out.hashes, read_hashes(out.folder / "hashes.txt"));
    if (out.hashes.rows.empty())
        return fail(ErrorKind::usage, (out.folder / "hashes.txt").string(), "has no steps",
                    "train with --hashes");
    const auto run = run_in(folder);
    if (const auto head = run ? read_checkpoint_head(run->checkpoint) : std::nullopt)
        out.settings = head->settings;
    if (auto description = read_run_description(folder)) out.description = std::move(*description);
    return out;
}

/// Where the lines of two runs part; `stage` is "photo" or a HashStage's name.
struct Parting {
    std::uint64_t step = 0;  ///< 0: they do not
    std::string stage;
    std::uint64_t compared = 0, last = 0;  ///< steps that both have; the last of them
    StepHashes a, b;
};

std::string first_stage(const StepHashes& a, const StepHashes& b) {
    if (a.view != b.view) return "photo";
    for (std::size_t i = 0; i < kHashStages; ++i)
        if (a.of[i] != 0 && b.of[i] != 0 && a.of[i] != b.of[i]) return kHashStageNames[i];
    return a.gaussians != b.gaussians ? "density" : "";
}

Parting parting_of(const std::vector<StepHashes>& a, const std::vector<StepHashes>& b) {
    Parting out;
    for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
        if (a[i].step != b[k].step) {
            a[i].step < b[k].step ? ++i : ++k;
            continue;
        }
        ++out.compared;
        out.last = a[i].step;
        if (std::string stage = first_stage(a[i], b[k]); !stage.empty()) {
            out.step = a[i].step;
            out.stage = std::move(stage);
            out.a = a[i];
            out.b = b[k];
            return out;
        }
        ++i, ++k;
    }
    return out;
}

/// Settings in which the two runs differ.
Json differences_of(const Side& a, const Side& b) {
    Json out = Json::array();
    const auto add = [&](const std::string& what, const Json& of_a, const Json& of_b) {
        if (of_a != of_b) out.push_back({{"what", what}, {"a", of_a}, {"b", of_b}});
    };
    for (const SettingField& field : setting_fields())
        add(field.name, field.of(a.settings), field.of(b.settings));
    add("backend", kind_of_backend(a.hashes.backend), kind_of_backend(b.hashes.backend));
    add("gausscope", a.hashes.program, b.hashes.program);
    add("machine", a.hashes.machine, b.hashes.machine);
    if (!a.description || !b.description) return out;
    add("capture", a.description->capture, b.description->capture);
    const CaptureOptions &of_a = a.description->loading, &of_b = b.description->loading;
    add("downscale", of_a.downscale, of_b.downscale);
    add("undistort", of_a.undistort, of_b.undistort);
    add("changes while training", a.description->marks.size(), b.description->marks.size());
    return out;
}

/// A step of one run, whole, and the model behind it.
struct Seen {
    CapturedStep step;
    std::optional<GaussianModel> model;  ///< behind density control; none: not known
};

/// The newest checkpoint of the run before step `step`; empty: there is none.
fs::path checkpoint_before(const fs::path& folder, std::uint64_t step) {
    fs::path best;
    std::uint64_t best_step = 0;
    const auto offer = [&](const fs::path& path) {
        const auto steps = checkpoint_steps(path);
        if (!steps || *steps >= step || *steps < best_step) return;
        best = path;
        best_step = *steps;
    };
    offer(folder / "checkpoint.gsc");
    for (const std::uint64_t kept : kept_steps(folder)) offer(kept_checkpoint(folder, kept));
    return best;
}

/// Does the step again from the nearest checkpoint, or from the start.
Result<Seen> see_again(const Side& side, const StepHashes& row, const DiffArguments& a,
                       const CommonArguments& common) {
    const fs::path checkpoint = checkpoint_before(side.folder, row.step);
    const std::uint64_t from = checkpoint.empty() ? 0 : checkpoint_steps(checkpoint).value_or(0);
    if (row.step - from > a.most_steps)
        return fail(
            ErrorKind::usage, side.folder.string(),
            fmt::format("its nearest checkpoint before step {} is of step {}", row.step, from),
            "train with --keep-every or --capture-step, or allow more: --most-steps N");
    if (!side.description)
        return fail(ErrorKind::usage, side.folder.string(), "does not name its capture");
    if (checkpoint.empty() && !side.description->splats.empty())
        return fail(ErrorKind::usage, side.folder.string(),
                    "started from splats: no step before its first checkpoint can be repeated",
                    "train with --keep-every or --capture-step");
    GS_TRY_VOID(can_capture(side.settings));
    GS_TRY(const Backend backend, backend_of(common));
    GS_TRY(auto computes, backend.make_training());
    const RunPhotos photos = photos_of_run(side.folder, checkpoint, {});
    GS_TRY(const auto capture, load_with_progress(find_capture(photos.capture), photos.loading));
    GS_TRY(const auto trainer, checkpoint.empty()
                                   ? Trainer::create(capture, side.settings, std::move(computes))
                                   : Trainer::resume(checkpoint, capture, std::move(computes)));
    ProgressLine progress(side.folder.string().c_str());
    for (std::uint64_t step = from + 1; step < row.step; ++step) {
        trainer->step();
        progress.update(step - from, row.step - from, "");
        if (interrupted()) return fail(ErrorKind::cancelled, "", "was interrupted");
    }
    trainer->hash_steps(true);
    StepRecord record;
    trainer->step(&record);
    const std::vector<StepHashes> again = trainer->take_hashes(true);
    if (again.empty() || !first_stage(again.back(), row).empty())
        return fail(
            ErrorKind::usage, side.folder.string(),
            fmt::format("step {} gives other bits when repeated (from step {}): {} differs",
                        row.step, from, again.empty() ? "all" : first_stage(again.back(), row)),
            "settings were changed while it trained, or it trained on another machine");
    Seen out;
    GS_TRY(out.step, capture_of(record, side.description->capture, trainer->rasterizer()));
    out.model = trainer->model();
    return out;
}

Result<Seen> see(const Side& side, const StepHashes& row, const DiffArguments& a,
                 const CommonArguments& common) {
    const fs::path file = side.folder / step_file_name(row.step);
    if (!path_exists(file) || row[HashStage::density] != 0) return see_again(side, row, a, common);
    Seen out;
    GS_TRY(out.step, read_step(file));
    return out;
}

/// The first row that two models have otherwise.
std::string first_row_apart(const GaussianModel& a, const GaussianModel& b) {
    if (a.count != b.count) return fmt::format("{} Gaussians / {}", a.count, b.count);
    ComparisonRow rows;
    rows.nan_is_nan = true;
    for (std::size_t row = 0; row < a.count; ++row)
        for (int p = 0; p < std::min(a.planes(), b.planes()); ++p)
            rows.add(a.at(p, row), b.at(p, row),
                     [&] { return fmt::format("Gaussian {}, parameter {}", row, p); });
    return rows.first;
}

/// The step's input already differed.
std::string first_input_apart(const StepInputs& a, const StepInputs& b) {
    if (a.photo.bytes != b.photo.bytes || a.mask.bytes != b.mask.bytes) return "the photo's pixels";
    if (a.options.sh_degree != b.options.sh_degree ||
        a.options.near_plane != b.options.near_plane ||
        a.options.antialiased != b.options.antialiased ||
        a.options.projection != b.options.projection ||
        std::memcmp(&a.options.background, &b.options.background, sizeof(Vec3f)) != 0)
        return "the render settings (SH degree, background, near plane, antialiasing, projection)";
    ComparisonRow rows;
    rows.nan_is_nan = true;
    std::size_t i = 0, k = 0;
    while (i < a.blocks.size() && k < b.blocks.size()) {
        if (a.blocks[i] != b.blocks[k]) {
            a.blocks[i] < b.blocks[k] ? ++i : ++k;
            continue;
        }
        for (int p = 0; p < std::min(a.model.planes(), b.model.planes()); ++p)
            for (std::size_t lane = 0; lane < kBlock; ++lane)
                rows.add(a.model.at(p, i * kBlock + lane), b.model.at(p, k * kBlock + lane), [&] {
                    return fmt::format("Gaussian {}, parameter {} before the step",
                                       a.row_of_run(i * kBlock + lane), p);
                });
        ++i, ++k;
    }
    return rows.first;
}

/// Names the first thing of the step that is not the same.
std::string first_apart(const Seen& a, const Seen& b, const std::string& stage) {
    if (std::string input = first_input_apart(a.step.inputs, b.step.inputs); !input.empty())
        return input;
    const bool same_blocks = std::equal(a.step.inputs.blocks.begin(), a.step.inputs.blocks.end(),
                                        b.step.inputs.blocks.begin(), b.step.inputs.blocks.end());
    if (same_blocks && stage != "density")
        for (const ComparisonRow& row :
             compare_steps(a.step.inputs, a.step.outputs, b.step.outputs))
            if (row.differ > 0) return fmt::format("{}: {}", row.stage, row.first);
    if (a.model && b.model) return first_row_apart(*a.model, *b.model);
    return "not in the data of the captured steps";
}

void print(const Json& out) {
    say("compared {compared} common steps, up to step {last}", out);
    if (!out["differences"].empty()) {
        const Column columns[] = {{"told", "{what}", true}, {"A", "{a}", true}, {"B", "{b}", true}};
        say_table(out["differences"], columns);
    }
    if (out["step"].is_null()) return say("all compared steps have the same bits", out);
    say("the runs diverge at step {step}, in {stage}", out);
    if (!out["first"].is_null()) say("first: {first} (A / B)", out);
    if (!out["why_not"].is_null()) say("the Gaussian cannot be identified: {why_not}", out);
}

Result<int> run(const DiffArguments& a, const CommonArguments& common) {
    catch_interrupts();
    GS_TRY(const Side one, read_side(a.a));
    GS_TRY(const Side two, read_side(a.b));
    const Parting parting = parting_of(one.hashes.rows, two.hashes.rows);
    if (parting.compared == 0)
        return fail(ErrorKind::usage, a.b, "has no hashed step in common with the other run");
    Json out{{"command", "diff"},
             {"a", a.a},
             {"b", a.b},
             {"compared", parting.compared},
             {"last", parting.last},
             {"differences", differences_of(one, two)},
             {"step", nullptr},
             {"stage", nullptr},
             {"first", nullptr},
             {"why_not", nullptr}};
    if (parting.step != 0) {
        out["step"] = parting.step;
        out["stage"] = parting.stage;
        Result<Seen> seen = see(one, parting.a, a, common);
        Result<Seen> other = seen ? see(two, parting.b, a, common) : tl::unexpected(seen.error());
        if (other)
            out["first"] = first_apart(*seen, *other, parting.stage);
        else
            out["why_not"] = other.error().text();
    }
    print(out);
    if (common.json) print_json(out);
    return parting.step == 0 ? kDone : kGate;
}

}  // namespace

Subcommand diff_command() {
    return subcommand<DiffArguments>(
        "diff", "find where two runs diverge: the step, the stage, the Gaussian",
        "  gausscope train photos/ -o a --hashes      the same twice, or with another version,\n"
        "  gausscope train photos/ -o b --hashes      setting, machine\n"
        "  gausscope diff a b\n"
        "The Gaussian is found in steps that both captured, or by repeating the step from "
        "the\nnearest checkpoints. Exit code 0: the same bits; 3: they differ. See "
        "docs/replay.md.\n",
        add_options, run);
}

}  // namespace gs::cli
