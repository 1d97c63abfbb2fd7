#include "app/cli/train/blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
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
#include "trainer/run/run_files.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_keeper.h"

namespace gs::cli {
namespace {

constexpr const char* kSeams = "seams";  // folder of the second round, in that of the block

/// A block's run, and what it has done.
struct BlockRun {
    std::uint64_t number;  ///< of the block, from 1
    fs::path folder;
    const CaptureBlock* block;
    TrainedBlock trained;
    std::optional<std::uint64_t> steps{};  ///< none: it has not begun
    std::size_t gaussians = 0, kept = 0;   ///< once they are merged
};
/// One run for each block. The second round starts from the first one's Gaussians.
struct BlockRound {
    NamedValues given;
    TrainingSettings settings{};
    std::vector<BlockRun> runs{};
    bool finished(const BlockRun& run) const {
        return run.steps && static_cast<double>(*run.steps) >= settings.steps;
    }
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
                      "it is of one run: train the capture in one");
    if (s.appearance != AppearanceMode::none)
        return refuse("--appearance", "each block would learn its own exposures: " + whole);
    if (s.sky != SkyKind::none)
        return refuse("--sky", "each block would learn its own sky: " + whole);
    if (s.refine_poses || s.refine_intrinsics)
        return refuse(s.refine_poses ? "--refine-poses" : "--refine-intrinsics",
                      "each block would move the photos it shares: correct them in a run of its "
                      "own, then use gausscope poses");
    if (s.crop) return refuse("--crop", "crop the result: gausscope convert --crop");
    if (s.filter_3d) return refuse("--filter-3d", "its filter depends on all photos: " + whole);
    if (s.lidar_weight > 0 || !a.loading.lidars.empty())
        return refuse("training from a lidar", "sweeps are not cut yet: " + whole);
    return {};
}

std::optional<std::string> first_difference(const TrainingSettings& there,
                                            const TrainingSettings& here) {
    for (const SettingField& field : setting_fields())
        if (field.of(there) != field.of(here))
            return fmt::format("{} {}, not {}", field.name, field.text(field.of(there)),
                               field.text(field.of(here)));
    return std::nullopt;
}

/// Beside the photos, none, or a folder, which may be elsewhere on another machine.
int mask_choice(const std::string& masks) { return masks.empty() ? 0 : masks == kNoMasks ? 1 : 2; }

/// What is in the block's folder. Errors (usage): another run, or one with other settings or masks.
Result<void> look_into(BlockRun& run, const TrainingSettings& settings, const std::string& masks) {
    const auto there = run_in(run.folder);
    if (!there) return {};
    const std::string path = run.folder.string();
    GS_TRY(const RunDescription description, read_run_description(run.folder));
    if (description.block != run.trained.name)
        return fail(
            ErrorKind::usage, path,
            fmt::format("is {}, not {}",
                        description.block.empty() ? "a run of a whole capture" : description.block,
                        run.trained.name),
            "another capture, number of blocks, size or choice of photos makes another "
            "cut: use another -o DIR, or --overwrite");
    const auto head = read_checkpoint_head(there->checkpoint);
    if (!head)
        return fail(ErrorKind::malformed, path, "has no readable checkpoint.gsc",
                    fs::exists(run.folder / kElsewhere)
                        ? fmt::format("copy the one that its {} names there", kElsewhere)
                        : "copy the block's whole folder again, or remove it to train the block "
                          "again");
    std::optional<std::string> other = first_difference(head->settings, settings);
    if (mask_choice(description.loading.masks) != mask_choice(masks))
        other = fmt::format("the masks \"{}\", not \"{}\"", description.loading.masks, masks);
    if (other)
        return fail(ErrorKind::usage, path, "was trained with " + *other,
                    run.folder.filename() == kSeams
                        ? "to train the seams again remove this folder in every block"
                        : "all blocks need the same settings: use another -o DIR, or --overwrite, "
                          "which trains all of them again");
    run.steps = head->steps;
    return {};
}

/// For Gaussians that only have to fit their neighbours: none are added, and positions start ten
/// times faster than they end, as in settings_to_continue().
NamedValues given_for_seams(NamedValues given, const TrainingSettings& settings, double steps) {
    for (const auto& [name, value] :
         NamedValues{{"steps", steps},
                     {"lr_means", std::min(1.0, 10 * settings.lr_means_final)},
                     {"sh_interval", 1},
                     {"densify_until", 0},
                     {"opacity_reset_every", 0},
                     {"coarse_until", 0}})
        given.emplace_back(name, value);
    return given;
}

/// Its corners, null where it is endless.
Json json_of(const BlockRegion& region) {
    Json out = Json::array();
    for (const Vec3f& p : {region.lo, region.hi})
        out.push_back({json_number(static_cast<double>(p.x)), json_number(static_cast<double>(p.y)),
                       json_number(static_cast<double>(p.z))});
    return out;
}

class BlocksCommand {
  public:
    BlocksCommand(const TrainArguments& a, const CommonArguments& common)
        : a_(a), common_(common) {}
    Result<int> run();

  private:
    Result<void> read_choice();
    Result<void> prepare();
    Result<void> add_round(NamedValues given, const std::string& name, const fs::path& folder);
    std::string masks() const { return parts_.loading.masks; }
    bool only_merge() const { return a_.block == "merge"; }
    /// Its runs are to be trained.
    bool is_chosen(const BlockRun& run) const {
        return !only_merge() && (only_ == 0 || run.number == only_);
    }
    void forget_seams();
    Result<int> train(const BlockRound& round, BlockRun& run);
    Result<bool> train_round(BlockRound& round);
    Result<void> check_merged_folder() const;
    Result<SplatFile> result_of(const BlockRound& round, const BlockRun& run) const;
    Result<GaussianModel> with_neighbours(const BlockRun& run);
    Result<void> merge();
    Result<void> write_merged(const GaussianModel& model, const TrainedThrough& trained);

    const TrainArguments& a_;
    const CommonArguments& common_;
    BlocksOfCapture parts_;
    std::vector<BlockRound> rounds_;
    std::uint64_t only_ = 0;  // the block to train; 0: all
    std::string merged_name_;
};

Result<void> BlocksCommand::read_choice() {
    if (a_.output.empty())
        return fail(ErrorKind::usage, "", "--blocks needs -o DIR",
                    "the blocks are in DIR/block-K, and the same command resumes there");
    const std::string& word = a_.block;
    if (word.empty() || only_merge()) return {};
    const auto read = std::from_chars(word.data(), word.data() + word.size(), only_);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size() || only_ == 0 ||
        only_ > a_.blocks)
        return fail(ErrorKind::usage, "", fmt::format("there is no block \"{}\"", word),
                    fmt::format("--block takes 1 to {}, or merge", a_.blocks));
    return {};
}

Result<void> BlocksCommand::add_round(NamedValues given, const std::string& name,
                                      const fs::path& folder) {
    BlockRound& round = rounds_.emplace_back(BlockRound{std::move(given)});
    GS_TRY(const NamedValues all, given_settings(round.given, a_.loading.background, common_));
    GS_TRY(round.settings, make_settings(all));
    for (std::uint64_t k = 1; k <= a_.blocks; ++k) {
        const fs::path of_block = fs::path(a_.output) / fmt::format("block-{}", k);
        BlockRun& run =
            round.runs.emplace_back(BlockRun{k, folder.empty() ? of_block : of_block / folder,
                                             &parts_.blocks[k - 1], parts_.runs[k - 1]});
        run.trained.name += name;
        const bool again = a_.overwrite && is_chosen(run);
        if (!again && (only_ == 0 || only_ == k))
            GS_TRY_VOID(look_into(run, round.settings, masks()));
    }
    return {};
}

Result<void> BlocksCommand::prepare() {
    GS_TRY_VOID(read_choice());
    GS_TRY(const NamedValues given, given_settings(a_.settings, a_.loading.background, common_));
    GS_TRY(const TrainingSettings settings, make_settings(given));
    GS_TRY(parts_, blocks_of_capture(a_, settings, common_));
    const std::string& first = parts_.runs[0].name;
    merged_name_ = fmt::format("all {} blocks{}", a_.blocks, first.substr(first.rfind(" of ")));
    rounds_.reserve(2);
    GS_TRY_VOID(add_round(a_.settings, "", ""));
    const double seam_steps =
        a_.seam_steps ? static_cast<double>(*a_.seam_steps) : std::floor(settings.steps / 10);
    if (seam_steps > 0)
        GS_TRY_VOID(
            add_round(given_for_seams(a_.settings, settings, seam_steps), ", its seams", kSeams));
    if (only_ == 0) GS_TRY_VOID(check_merged_folder());
    return {};
}

/// Its Gaussians. Errors: it is not there, not finished, damaged.
Result<SplatFile> BlocksCommand::result_of(const BlockRound& round, const BlockRun& run) const {
    if (!round.finished(run))
        return fail(ErrorKind::usage, run.folder.string(),
                    run.steps ? fmt::format("has {} of {} steps", *run.steps, round.settings.steps)
                              : "is not there",
                    fmt::format("train it: the same command with --block {}", run.number));
    return read_any_splats(find_contents((run.folder / "checkpoint.gsc").string()));
}

/// What the second round of a block starts from: its own Gaussians, its neighbours' in its margin
/// instead of what it made there itself, and its own view of everything beyond. The margin is as
/// many times as wide as max_gaussians allows; where once is too much the faintest beyond go.
Result<GaussianModel> BlocksCommand::with_neighbours(const BlockRun& run) {
    constexpr float kTimes[] = {1e30f, 8, 4, 2, 1};
    const auto takes = [&](const BlockRun& from, float times) {
        return [&from, &run, reach = widened(*run.block, times)](Vec3f mean) {
            return from.number == run.number ? from.block->own.holds(mean) || !reach.holds(mean)
                                             : from.block->own.holds(mean) && reach.holds(mean);
        };
    };
    std::size_t counts[std::size(kTimes)] = {};
    for (BlockRun& from : rounds_[0].runs) {
        GS_TRY_VOID(look_into(from, rounds_[0].settings, masks()));
        GS_TRY(const SplatFile splats, result_of(rounds_[0], from));
        for (std::size_t t = 0; t < std::size(kTimes); ++t) {
            const auto take = takes(from, kTimes[t]);
            for (std::size_t row = 0; row < splats.model.count; ++row)
                counts[t] += take(splats.model.mean(row)) ? 1 : 0;
        }
    }
    const auto most = static_cast<std::size_t>(rounds_[0].settings.max_gaussians);
    std::size_t fit = 0;
    while (fit + 1 < std::size(kTimes) && counts[fit] > most) ++fit;
    std::vector<GaussianModel> parts;
    for (const BlockRun& from : rounds_[0].runs) {
        GS_TRY(const SplatFile splats, result_of(rounds_[0], from));
        parts.push_back(chosen(splats.model, takes(from, kTimes[fit])));
    }
    return without_faintest(joined(std::move(parts)), run.block->own, most);
}

/// Every seam was trained with what a block had before it is trained again.
void BlocksCommand::forget_seams() {
    std::error_code ignored;
    for (const BlockRun& run : rounds_[0].runs)
        if (fs::remove_all(run.folder / kSeams, ignored) > 0)
            log_info("removed {}: a block is trained again", (run.folder / kSeams).string());
    if (rounds_.size() > 1)
        for (BlockRun& run : rounds_[1].runs) run.steps.reset();
}

Result<int> BlocksCommand::train(const BlockRound& round, BlockRun& run) {
    const bool seams = &round != &rounds_[0];
    TrainArguments a = a_;
    a.settings = round.given;
    a.output = run.folder.string();
    a.blocks = 0;
    a.trained = &run.trained;
    CommonArguments common = common_;
    common.json = false;  // of the whole, at the end
    log_info("block {} of {}{}: {} of {} photos", run.number, a_.blocks, seams ? ", its seams" : "",
             run.block->views.size(), parts_.capture.views.size());
    const fs::path start = run.folder.parent_path() / "seams_start.ply";
    std::error_code ignored;
    if (!seams && !run.steps) forget_seams();
    if (run.steps) {
        a.resume = "auto";
    } else if (seams) {
        GS_TRY(const GaussianModel model, with_neighbours(run));
        GS_TRY_VOID(write_splats(start, model));
        a.from = start.string();
    }
    GS_TRY(const int code, train_once(a, common));
    if (code == kDone) GS_TRY_VOID(look_into(run, round.settings, masks()));
    if (seams && round.finished(run)) fs::remove(start, ignored);
    return code;
}

Result<void> BlocksCommand::check_merged_folder() const {
    if (!run_in(a_.output) || a_.overwrite) return {};
    const auto there = read_run_description(a_.output);
    if (there && there->block == merged_name_) return {};
    return fail(ErrorKind::usage, a_.output, "it contains another run",
                "choose another folder, or replace it: --block merge --overwrite");
}

Result<void> BlocksCommand::merge() {
    std::vector<GaussianModel> kept;
    TrainedThrough trained;
    ProgressLine line("merge");
    BlockRound& last = rounds_.back();
    for (BlockRun& run : last.runs) {
        line.update(run.number - 1, last.runs.size(), "");
        GS_TRY(const SplatFile splats, result_of(last, run));
        trained.unscented = splats.trained.unscented;
        trained.widest_angle = std::max(trained.widest_angle, splats.trained.widest_angle);
        kept.push_back(
            chosen(splats.model, [&](Vec3f mean) { return run.block->own.holds(mean); }));
        run.gaussians = splats.model.count;
        run.kept = kept.back().count;
    }
    line.finish();
    return write_merged(joined(std::move(kept)), trained);
}

Result<void> BlocksCommand::write_merged(const GaussianModel& model,
                                         const TrainedThrough& trained) {
    // Replaced, not removed: until it is written, the old result stays.
    GS_TRY(RunFolder folder, RunFolder::take(a_.output, {}, 0, true, write_log));
    const fs::path splats = folder.path() / "point_cloud.ply";
    if (const auto there = read_run_description(a_.output); !there || there->block != merged_name_)
        folder.clear();
    RunOrigin origin;
    origin.capture = a_.capture;
    origin.loading = parts_.loading;
    origin.block = merged_name_;
    RunDescription description = description_of(origin, parts_.capture);
    description.widest_angle = trained.widest_angle;
    // First, so that splats that are there are always known as a merged scene.
    GS_TRY_VOID(
        write_text_file(folder.path() / "run.json", json_text(to_json(description), 1) + "\n"));
    SplatWriteOptions how;
    how.trained = trained;
    GS_TRY_VOID(write_splats(splats, model, how));
    using Row = BlockRun;
    const Table table = table_of<Row>(
        rounds_.back().runs,
        {{"block", "block", format_count, &Row::number},
         {"photos", "photos", format_count, [](auto& r) { return r.block->views.size(); }},
         {"test_photos", "of them tests", format_count,
          [](auto& r) { return r.trained.test_views.size(); }},
         {"points", "points", format_count, [](auto& r) { return r.trained.points; }},
         {"gaussians", "Gaussians", format_count, &Row::gaussians},
         {"kept", "kept", format_count, &Row::kept}});
    Json rows = table_json(table);
    for (std::size_t b = 0; b < rows.size(); ++b) rows[b]["region"] = json_of(parts_.blocks[b].own);
    const double seam_steps = rounds_.size() == 1 ? 0 : rounds_[1].settings.steps;
    const Json out{{"command", "train"},
                   {"capture", a_.capture},
                   {"steps", static_cast<std::uint64_t>(rounds_[0].settings.steps)},
                   {"seam_steps", static_cast<std::uint64_t>(seam_steps)},
                   {"blocks", std::move(rows)},
                   {"gaussians", model.count},
                   {"files", {{"splats", splats.string()}}}};
    GS_TRY_VOID(write_text_file(folder.path() / "metrics.json", json_text(out, 1) + "\n"));
    say_table(table);
    say("{gaussians} Gaussians: {files.splats}", out);
    fmt::print("score the test photos with: gausscope eval {}\n", a_.output);
    if (common_.json) print_json(out);
    return {};
}

/// False: one is not finished.
Result<bool> BlocksCommand::train_round(BlockRound& round) {
    for (BlockRun& run : round.runs) {
        if (!is_chosen(run)) continue;
        if (round.finished(run)) {
            log_info("{} has all its steps", run.folder.string());
            continue;
        }
        GS_TRY(const int code, train(round, run));
        if (code == kDone && round.finished(run)) continue;
        fmt::print("block {} of {} is not finished: the same command resumes it{}\n", run.number,
                   a_.blocks, a_.overwrite ? ", without --overwrite" : "");
        return false;
    }
    return true;
}

Result<int> BlocksCommand::run() {
    GS_TRY_VOID(prepare());
    for (BlockRound& round : rounds_) {
        const bool began_finished = only_ > 0 && round.finished(round.runs[only_ - 1]);
        GS_TRY(const bool all, train_round(round));
        if (!all && common_.json) print_json({{"command", "train"}, {"interrupted", true}});
        if (!all) return kFailed;
        if (only_ == 0 || began_finished) continue;
        fmt::print("next, with all blocks' folders in {}: {}\n", a_.output,
                   &round == &rounds_.back() ? "--block merge" : "the same command, for its seams");
        break;
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
        // Half of the most Gaussians is left for growing.
        run.start = {block.wide, static_cast<std::size_t>(settings.max_gaussians / 2)};
        std::vector<SparsePoint> points = capture.points;
        keep_points_of_block(run.start, points);
        run.points = points.size();
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
    loading.block = block.start;
    loading.origin = block.origin;
    loading.left_out = block.left_out;
    loading.test_views = block.test_views;
    loading.test_views_of_run = true;
    loading.listed_split = ListedSplit::ignored;
    loading.test_every = 0;
}

}  // namespace gs::cli
