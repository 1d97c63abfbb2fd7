#include "app/cli/train/blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/train/train_settings.h"
#include "app/paths/path_contents.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/try.h"
#include "trainer/checkpoint.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_keeper.h"

namespace gs::cli {
namespace {

/// What a block's run has done.
struct BlockRun {
    std::uint64_t number = 0;  ///< from 1
    fs::path folder;
    const CaptureBlock* block = nullptr;
    const TrainedBlock* trained = nullptr;
    std::optional<std::uint64_t> steps;  ///< none: it has not begun
    std::size_t test_photos = 0;
    std::size_t gaussians = 0, kept = 0;  ///< once they are merged
};

/// Errors (usage): what parts cannot do, by name.
Result<void> may_be_cut(const TrainArguments& a, const TrainingSettings& s) {
    const auto refuse = [](const std::string& what, const std::string& advice) {
        return fail(ErrorKind::usage, "", what + " does not work with --blocks", advice);
    };
    const std::string whole = "train the capture in one run";
    if (a.view) return refuse("--view", "train, then open the result in the studio");
    if (!a.resume.empty()) return refuse("--resume", "the same command resumes");
    if (!a.from.empty())
        return refuse("--from", "merge first, then train the result further with --from");
    if (a.until_psnr) return refuse("--until-psnr", "give each block the same --steps");
    if (!a.trace.empty() || !a.history.empty() || !a.layout.empty())
        return refuse(!a.trace.empty()     ? "--trace"
                      : !a.history.empty() ? "--history"
                                           : "--layout",
                      "use it on one block's folder: train --resume DIR/block-K, or convert");
    if (s.appearance != AppearanceMode::none)
        return refuse("--appearance", "each block would learn its own exposures: " + whole);
    if (s.refine_poses || s.refine_intrinsics)
        return refuse(s.refine_poses ? "--refine-poses" : "--refine-intrinsics",
                      "each block would move the photos it shares: correct them in a run of its "
                      "own, then use gausscope poses");
    if (s.lidar_weight > 0 || !a.loading.lidars.empty())
        return refuse("training from a lidar", "sweeps are not cut yet: " + whole);
    return {};
}

fs::path folder_of_block(const std::string& output, std::uint64_t number) {
    return fs::path(output) / fmt::format("block-{}", number);
}

std::optional<std::string> first_difference(const TrainingSettings& there,
                                            const TrainingSettings& here) {
    for (const SettingField& field : setting_fields())
        if (field.of(there) != field.of(here))
            return fmt::format("{} {}, not {}", field.name, field.text(field.of(there)),
                               field.text(field.of(here)));
    return std::nullopt;
}

/// What is in the block's folder. Errors (usage): another run, or one with other settings.
Result<void> look_into(BlockRun& run, const TrainingSettings& settings) {
    const auto there = run_in(run.folder);
    if (!there) return {};
    const std::string path = run.folder.string();
    GS_TRY(const RunDescription description, read_run_description(run.folder));
    if (description.block != run.trained->name)
        return fail(
            ErrorKind::usage, path,
            fmt::format("is {}, not {}",
                        description.block.empty() ? "a run of a whole capture" : description.block,
                        run.trained->name),
            "another capture, number of blocks, size or choice of photos makes another "
            "cut: use another -o DIR, or --overwrite");
    const auto head = read_checkpoint_head(there->checkpoint);
    if (!head)
        return fail(ErrorKind::malformed, path, "has no readable checkpoint.gsc",
                    "copy the block's whole folder again, or remove it to train the block again");
    if (const auto other = first_difference(head->settings, settings))
        return fail(ErrorKind::usage, path, "was trained with " + *other,
                    "all blocks need the same settings: use another -o DIR, or --overwrite");
    run.steps = head->steps;
    return {};
}

class BlocksCommand {
  public:
    BlocksCommand(const TrainArguments& a, const CommonArguments& common)
        : a_(a), common_(common) {}
    Result<int> run();

  private:
    Result<void> prepare();
    bool finished(const BlockRun& run) const {
        return run.steps && static_cast<double>(*run.steps) >= settings_.steps;
    }
    Result<int> train(BlockRun& run);
    Result<void> check_merged_folder() const;
    Result<GaussianModel> kept_of(BlockRun& run, TrainedThrough& trained) const;
    Result<void> merge();

    const TrainArguments& a_;
    const CommonArguments& common_;
    TrainingSettings settings_;
    BlocksOfCapture parts_;
    std::vector<BlockRun> runs_;
    std::uint64_t only_ = 0;  // the block to train; 0: all
    std::string merged_name_;
};

Result<void> BlocksCommand::prepare() {
    GS_TRY(const NamedValues given, given_settings(a_.settings, a_.loading.background, common_));
    GS_TRY(settings_, make_settings(given));
    if (a_.output.empty())
        return fail(ErrorKind::usage, "", "--blocks needs -o DIR",
                    "the blocks are in DIR/block-K, and the same command resumes there");
    if (const std::string& word = a_.block; !word.empty() && word != "merge") {
        const auto read = std::from_chars(word.data(), word.data() + word.size(), only_);
        if (read.ec != std::errc() || read.ptr != word.data() + word.size() || only_ == 0 ||
            only_ > a_.blocks)
            return fail(ErrorKind::usage, "", fmt::format("there is no block \"{}\"", word),
                        fmt::format("--block takes 1 to {}, or merge", a_.blocks));
    }
    GS_TRY(parts_, blocks_of_capture(a_, settings_, common_));
    for (std::uint64_t k = 1; k <= a_.blocks; ++k) {
        const TrainedBlock& trained = parts_.runs[k - 1];
        BlockRun& run = runs_.emplace_back();
        run = {k,  folder_of_block(a_.output, k), &parts_.blocks[k - 1], &trained,
               {}, trained.test_views.size()};
        if (a_.overwrite && a_.block != "merge" && (only_ == 0 || only_ == k)) continue;
        if (only_ == 0 || only_ == k) GS_TRY_VOID(look_into(run, settings_));
    }
    const std::string& first = parts_.runs[0].name;
    merged_name_ = fmt::format("all {} blocks{}", a_.blocks, first.substr(first.rfind(" of ")));
    return {};
}

Result<int> BlocksCommand::train(BlockRun& run) {
    TrainArguments a = a_;
    a.output = run.folder.string();
    a.blocks = 0;
    a.trained = run.trained;
    if (run.steps) a.resume = "auto";
    CommonArguments common = common_;
    common.json = false;  // of the whole, at the end
    log_info("block {} of {}: {} of {} photos, {} points", run.number, a_.blocks,
             run.block->views.size(), parts_.capture.views.size(),
             format_count(static_cast<double>(run.block->points)));
    return train_once(a, common);
}

Result<void> BlocksCommand::check_merged_folder() const {
    if (!run_in(a_.output) || a_.overwrite) return {};
    const auto there = read_run_description(a_.output);
    if (there && there->block == merged_name_) return {};
    return fail(ErrorKind::usage, a_.output, "it contains another run",
                "choose another folder, or --overwrite");
}

/// Its own Gaussians. Errors: it is not there, not finished, damaged.
Result<GaussianModel> BlocksCommand::kept_of(BlockRun& run, TrainedThrough& trained) const {
    if (!finished(run))
        return fail(ErrorKind::usage, run.folder.string(),
                    run.steps ? fmt::format("has {} of {} steps", *run.steps, settings_.steps)
                              : "is not there",
                    fmt::format("train it: the same command with --block {}", run.number));
    GS_TRY(const SplatFile splats,
           read_any_splats(find_contents((run.folder / "checkpoint.gsc").string())));
    trained.unscented = splats.trained.unscented;
    trained.widest_angle = std::max(trained.widest_angle, splats.trained.widest_angle);
    GaussianModel kept = owned_by(run.block->own, splats.model);
    run.gaussians = splats.model.count;
    run.kept = kept.count;
    return kept;
}

Result<void> BlocksCommand::merge() {
    GS_TRY_VOID(check_merged_folder());
    std::vector<GaussianModel> kept;
    TrainedThrough trained;
    ProgressLine line("merge");
    for (BlockRun& run : runs_) {
        line.update(run.number - 1, runs_.size(), "");
        GS_TRY(kept.emplace_back(), kept_of(run, trained));
    }
    line.finish();
    const GaussianModel model = joined(std::move(kept));
    // Replaced, not removed: until it is written, the old result stays.
    GS_TRY(RunFolder folder, RunFolder::take(a_.output, {}, 0, true, write_log));
    const fs::path splats = folder.path() / "point_cloud.ply";
    if (const auto there = read_run_description(a_.output); there && there->block != merged_name_)
        folder.clear();
    GS_TRY_VOID(write_splats(splats, model, {4, trained, {}}));
    RunOrigin origin;
    origin.capture = a_.capture;
    origin.loading = parts_.loading;
    origin.block = merged_name_;
    RunDescription description = description_of(origin, parts_.capture);
    description.widest_angle = trained.widest_angle;
    GS_TRY_VOID(
        write_text_file(folder.path() / "run.json", json_text(to_json(description), 1) + "\n"));
    const Table table = table_of<BlockRun>(
        runs_, {{"block", "block", format_count, &BlockRun::number},
                {"photos", "photos", format_count, [](auto& r) { return r.block->views.size(); }},
                {"test_photos", "of them tests", format_count, &BlockRun::test_photos},
                {"points", "points", format_count, [](auto& r) { return r.block->points; }},
                {"gaussians", "Gaussians", format_count, &BlockRun::gaussians},
                {"kept", "kept", format_count, &BlockRun::kept}});
    const Json out{{"command", "train"},
                   {"capture", a_.capture},
                   {"steps", static_cast<std::uint64_t>(settings_.steps)},
                   {"blocks", table_json(table)},
                   {"gaussians", model.count},
                   {"files", {{"splats", splats.string()}}}};
    GS_TRY_VOID(write_text_file(folder.path() / "metrics.json", json_text(out, 1) + "\n"));
    say_table(table);
    say("{gaussians} Gaussians: {files.splats}", out);
    fmt::print("score the test photos with: gausscope eval {}\n", a_.output);
    if (common_.json) print_json(out);
    return {};
}

Result<int> BlocksCommand::run() {
    GS_TRY_VOID(prepare());
    if (only_ == 0) GS_TRY_VOID(check_merged_folder());
    for (BlockRun& run : runs_) {
        if (a_.block == "merge" || (only_ > 0 && run.number != only_)) continue;
        if (finished(run)) {
            log_info("block {} has all its steps", run.number);
            continue;
        }
        GS_TRY(const int code, train(run));
        if (code == kDone) GS_TRY_VOID(look_into(run, settings_));
        if (code != kDone || !finished(run)) {
            fmt::print("block {} of {} is not finished: the same command resumes it\n", run.number,
                       a_.blocks);
            return code == kDone ? kFailed : code;
        }
    }
    if (only_ == 0)
        GS_TRY_VOID(merge());
    else if (common_.json)
        print_json({{"command", "train"}, {"block", only_}});
    return kDone;
}

}  // namespace

Result<BlocksOfCapture> blocks_of_capture(const TrainArguments& a, const TrainingSettings& settings,
                                          const CommonArguments& common) {
    GS_TRY_VOID(may_be_cut(a, settings));
    BlocksOfCapture out;
    GS_TRY(out.loading, capture_options(a.loading, common));
    out.loading.background = background_of(settings);
    CaptureOptions without_photos = out.loading;
    without_photos.photos = false;
    GS_TRY(out.capture, load_capture(find_capture(a.capture), without_photos));
    const Capture& capture = out.capture;
    GS_TRY(out.blocks, cut_into_blocks(capture, a.blocks));
    const std::string cut = fmt::format("{:016x}", hash_of_cut(capture, out.blocks));
    for (std::size_t b = 0; b < out.blocks.size(); ++b) {
        const CaptureBlock& block = out.blocks[b];
        TrainedBlock& run = out.runs.emplace_back();
        run.name = fmt::format("block {} of {} of cut {} (1)", b + 1, a.blocks, cut);
        run.wide = block.wide;
        run.points = block.points;
        run.origin = capture.origin;
        run.left_out = capture.left_out;
        for (std::size_t v = 0; v < capture.views.size(); ++v)
            if (!std::binary_search(block.views.begin(), block.views.end(), v))
                run.left_out.push_back(capture.views[v].name);
            else if (capture.views[v].test)
                run.test_views.push_back(capture.views[v].name);
    }
    return out;
}

Result<int> train_blocks(const TrainArguments& a, const CommonArguments& common) {
    return BlocksCommand(a, common).run();
}

void narrow(const TrainedBlock& block, RunOptions& run) {
    CaptureOptions& loading = run.loading;
    run.block = block.name;
    loading.block = block.wide;
    loading.origin = block.origin;
    loading.left_out = block.left_out;
    loading.test_views = block.test_views;
    loading.test_views_of_run = true;
    loading.listed_split = ListedSplit::ignored;
    loading.test_every = 0;
}

}  // namespace gs::cli
