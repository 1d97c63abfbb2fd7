#include "app/session/parts/streamed_levels.h"

#include <algorithm>
#include <tuple>

#include "base/seconds.h"

namespace gs {
namespace {

constexpr double kTurnSeconds = 0.25;   // of reading, then what is there is shown
constexpr double kAheadSeconds = 0.75;  // how far ahead the camera's way is followed
constexpr double kPause = 0.3;          // seconds between two views that end a movement

bool same_wish(const LevelWish& a, const LevelWish& b) {
    const auto key = [](const LevelWish& w) {
        const ClipBox box = w.clip.value_or(ClipBox{});
        return std::tuple(w.budget, w.pixels, w.level, w.most, w.clip.has_value(), box.lo.x,
                          box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z);
    };
    return key(a) == key(b);
}

std::uint64_t memory_of(const ViewSettings& settings) {
    return static_cast<std::uint64_t>(settings.lod_memory * (1 << 20));
}

}  // namespace

void StreamedLevels::scene_changed(SceneChange change) {
    if (change != SceneChange::scene) return;
    ctx_.jobs.drop("levels");
    const bool set = ctx_.scene && ctx_.scene->levels;
    shown_ = set ? coarsest_levels(*ctx_.scene->levels) : LevelChoice();
    store_ = set && ctx_.scene->coarsest ? *ctx_.scene->coarsest : LevelStore();
    refused_ = {};
    bad_.clear();
    tried_ahead_.clear();
    picture_.reset();
    chosen_ = {};
    before_ = now_ = {};
    publish();
}

StreamedLevels::For StreamedLevels::choose_for(const ViewRequest& picture) {
    if (!ctx_.scene || !ctx_.scene->levels) return For::ready;
    picture_ = picture;
    choose();
    if (ctx_.jobs.running("levels")) return For::reading;
    return wanted() == shown_ ? For::ready : For::refused;
}

void StreamedLevels::choose_for_viewport() {
    if (!picture_) return;
    picture_.reset();
    choose();
}

/// Within the memory: what is chosen, beside all that is coarsest.
LevelWish StreamedLevels::wish() const {
    const ViewSettings& settings = decides()->settings;
    const LevelSet& set = *ctx_.scene->levels;
    const double room = std::max(
        1.0, static_cast<double>(memory_of(settings)) / store_.bytes_each() -
                 static_cast<double>(set.gaussians(set.levels - 1) + store_.environment()));
    const double budget =
        std::max(0.0, settings.lod_budget - static_cast<double>(store_.environment()));
    return {std::min(budget, room), settings.lod_pixels, settings.lod_level, settings.clip, room};
}

LevelChoice StreamedLevels::wanted() {
    const LevelSet& set = *ctx_.scene->levels;
    const Camera camera = camera_of(*ctx_.scene, *decides(), 1.0, false);
    const LevelWish now = wish();
    // A film's picture depends on its own camera alone.
    if (picture_) return choose_levels(set, camera, now);
    if (chosen_.choice.levels.empty() || !same_wish(chosen_.wish, now) ||
        !nearly_same_view(set, chosen_.camera, camera)) {
        chosen_ = {camera, now, choose_levels(set, camera, now)};
        tried_ahead_.clear();
    }
    return chosen_.choice;
}

/// The next coarser level in place of one whose file cannot be read.
LevelChoice StreamedLevels::readable(LevelChoice choice) const {
    const LevelSet& set = *ctx_.scene->levels;
    for (std::size_t r = 0; r < set.regions.size(); ++r) {
        const auto pieces = set.pieces_of(set.regions[r]);
        while (choice.levels[r] + 1u < pieces.size() && bad_.count(pieces[choice.levels[r]].file))
            ++choice.levels[r];
    }
    return choice;
}

void StreamedLevels::follow_camera() {
    if (picture_ || now_.request == decides()->serial) return;
    before_ = now_;
    now_ = {camera_of(*ctx_.scene, *decides(), 1.0, false), decides()->serial,
            std::chrono::steady_clock::now()};
}

/// What the way of a moving camera leads to: each file is tried once for a choice, since there may
/// be no space to keep it.
std::vector<std::size_t> StreamedLevels::files_ahead() {
    const double pause = std::chrono::duration<double>(now_.time - before_.time).count();
    if (picture_ || !decides()->moving || before_.request == 0 || !(pause > 0) || pause > kPause)
        return {};
    const int moves = static_cast<int>(std::clamp(kAheadSeconds / pause, 1.0, 100.0));
    const LevelSet& set = *ctx_.scene->levels;
    std::vector<std::size_t> out;
    for (const int part : {4, 2, 1}) {  // of the way, the nearest first
        const Camera ahead = camera_ahead(before_.camera, now_.camera, std::max(1, moves / part));
        for (const std::size_t file :
             store_.missing(set, readable(choose_levels(set, ahead, wish()))))
            if (tried_ahead_.insert(file).second) out.push_back(file);
    }
    return out;
}

Result<StreamedLevels::Turn> StreamedLevels::work(const LoadedScene& same, const Plan& plan,
                                                  const SessionOptions& options,
                                                  const Progress& progress) {
    const LevelSet& set = *same.levels;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::size_t> files = plan.files;
    files.insert(files.end(), plan.files_ahead.begin(), plan.files_ahead.end());
    Turn out{.store = plan.store};
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (i > 0 && seconds_since(begin) > kTurnSeconds) break;
        const Progress of_file = [&](std::string_view, std::size_t part, std::size_t of) {
            const std::size_t share = of > 0 ? 1000 * part / of : 0;
            return progress(i < plan.files.size() ? "reading levels" : "reading levels ahead",
                            1000 * i + share, 1000 * files.size());
        };
        if (const auto read = out.store.read(set, files[i], of_file); !read) {
            if (read.error().kind == ErrorKind::cancelled) return tl::unexpected(read.error());
            out.bad.push_back(files[i]);
            out.errors.push_back(read.error());
        }
        out.store.drop(set, plan.wanted, plan.memory);
    }
    out.shown = out.store.at_hand(set, plan.wanted, plan.shown, plan.budget);
    if (out.shown == plan.shown) return out;
    out.scene.emplace(same_scene(same));
    auto model = std::make_shared<const GaussianModel>(
        out.store.gather(set, out.shown, out.scene->level_runs));
    GS_TRY_VOID(show_model(*out.scene, std::move(model), options));
    return out;
}

bool StreamedLevels::choose() {
    if (!decides() || !ctx_.scene || !ctx_.scene->levels) return false;
    follow_camera();
    if (ctx_.jobs.running("levels")) return false;
    const LevelSet& set = *ctx_.scene->levels;
    Plan plan{.wanted = readable(wanted())};
    if (plan.wanted == refused_) return false;
    refused_ = {};
    plan.files = store_.missing(set, plan.wanted);
    if (plan.files.empty()) plan.files_ahead = files_ahead();
    plan.budget = wish().budget;
    plan.memory = memory_of(decides()->settings);
    const LevelChoice now = store_.at_hand(set, plan.wanted, shown_, plan.budget);
    if (plan.files.empty() && plan.files_ahead.empty() && now == shown_) {
        shown_ = now;  // the same levels, of another wish
        publish();
        return false;
    }
    plan.shown = shown_;
    plan.store = store_;
    ctx_.jobs.start<Turn>(
        {"levels", "reading levels", 0, true},
        [same = std::make_shared<LoadedScene>(same_scene(*ctx_.scene)), plan,
         options = ctx_.options](const Progress& progress) {
            return work(*same, plan, options, progress);
        },
        [this](Turn done) {
            show(std::move(done));
            choose();  // the rest, and the camera may have moved on
            if (!ctx_.jobs.running("levels")) the<SceneDoctor>().start_first();
        },
        [this, choice = plan.wanted](const Error& error) {
            refused_ = choice;
            if (error.kind != ErrorKind::cancelled) ctx_.events.error(error.text());
        });
    return true;
}

void StreamedLevels::show(Turn turn) {
    for (const Error& error : turn.errors) ctx_.events.error(error.text());
    bad_.insert(turn.bad.begin(), turn.bad.end());
    store_ = std::move(turn.store);
    if (turn.scene) ctx_.replace_model(std::move(*turn.scene));
    shown_ = std::move(turn.shown);
    publish();
}

void StreamedLevels::publish() {
    auto& levels = ctx_.events.changed().levels;
    levels = nullptr;
    if (ctx_.scene && ctx_.scene->levels)
        levels = std::make_shared<const LevelsState>(
            describe_levels(*ctx_.scene->levels, shown_, store_));
}

LevelsState describe_levels(const LevelSet& set, const LevelChoice& shown,
                            const LevelStore& store) {
    LevelsState out;
    out.levels.resize(set.levels);
    for (std::size_t level = 0; level < set.levels; ++level)
        out.levels[level].stored = set.gaussians(level);
    for (std::size_t r = 0; r < set.regions.size(); ++r) {
        const LevelPiece& piece = set.pieces_of(set.regions[r])[shown.levels[r]];
        ++out.levels[piece.level].regions;
        out.levels[piece.level].drawn += piece.count;
    }
    out.environment = store.environment();
    out.drawn = shown.gaussians + out.environment;
    out.pixels = shown.pixels;
    out.bytes = store.bytes();
    out.over_budget = shown.over_budget;
    return out;
}

}  // namespace gs
