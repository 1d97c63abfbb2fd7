#include "app/session/photo_problems.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "base/seconds.h"
#include "renderer/edit/row_change.h"

namespace gs {
namespace {

/// As the model is drawn against its photos.
RenderOptions options_for_photos(const LoadedScene& scene) {
    ViewSettings as_photos;
    as_photos.capture_view = 0;  // the background is the capture's
    return render_options(scene, as_photos);
}

std::vector<std::size_t> all_views(const Capture& capture) {
    std::vector<std::size_t> out(capture.views.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
    return out;
}

double share_of(std::size_t done, std::size_t total) {
    return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
}

}  // namespace

bool ProblemFinder::may_look(const char* what) {
    const auto& scene = ctx_.scene;
    if (!scene)
        ctx_.tell.error(fmt::format("no scene is open to {}", what));
    else if (!scene->capture || scene->capture->views.empty())
        ctx_.tell.error(
            fmt::format("{} has no photos to {}: open it with its capture (open SPLATS CAPTURE)",
                        scene->name, what));
    else
        return true;
    return false;
}

/// A rasterizer of its own, and the model as it is now.
bool ProblemFinder::prepare() {
    search_.reset();
    point_.reset();
    auto rasterizer = ctx_.options.make_rasterizer();
    if (!rasterizer) {
        ctx_.tell.error(rasterizer.error().text());
        return false;
    }
    rasterizer_ = std::move(*rasterizer);
    model_ = ctx_.scene->model;
    if (ctx_.scene->trainer)
        model_ = std::make_shared<const GaussianModel>(ctx_.scene->trainer->model());
    step_ = ctx_.scene->steps_done();
    seconds_ = 0;
    return true;
}

void ProblemFinder::begin(std::uint64_t command) {
    command_ = command;
    begun_ = std::chrono::steady_clock::now();
    publish();
}

void ProblemFinder::find() {
    if (!may_look("find problems in")) return;
    if (search_) return ctx_.tell.error("a search for problems is already running");
    if (!prepare()) return;
    search_.emplace(model_, ctx_.scene->capture, all_views(*ctx_.scene->capture), *rasterizer_,
                    options_for_photos(*ctx_.scene));
    search_ids_.clear();
    if (ctx_.scene->trainer) search_ids_ = ctx_.scene->trainer->ids();
    shown_.mark.reset();
    begin(ctx_.tell.command);
}

void ProblemFinder::point(const ViewRequest& request, double x, double y) {
    if (!may_look("find a place in")) return;
    if (search_)
        return ctx_.tell.error(
            "a search for problems is running: wait for it, or run problems.cancel first");
    if (!prepare()) return;
    PhotoDrawer drawer(model_, *rasterizer_, options_for_photos(*ctx_.scene));
    const Camera camera = camera_of(*ctx_.scene, request, 1, false);
    const auto place = point_of_pixel(drawer, camera, static_cast<int>(x * camera.width),
                                      static_cast<int>(y * camera.height));
    if (!place) return end("nothing at this pixel: half of the light passes through");
    point_.emplace(std::move(drawer), ctx_.scene->capture, *place);
    shown_.point.reset();
    begin(ctx_.tell.command);
}

/// Without a viewport its share of the time is 0: use a quarter then.
bool ProblemFinder::is_due(const Shown& shown) const {
    if (viewer_.may_draw(shown)) return true;
    return !viewer_.request() && seconds_since(last_.end) > 3 * last_.seconds;
}

bool ProblemFinder::work(const Shown& shown) {
    if ((!search_ && !point_) || !is_due(shown)) return false;
    const auto start = std::chrono::steady_clock::now();
    const bool more = search_ ? search_->next() : point_->next();
    const double spent = seconds_since(start);
    seconds_ += spent;
    last_ = {std::chrono::steady_clock::now(), spent};
    viewer_.add_picture(shown, spent);
    if (!more) return search_ ? tell_found() : tell_point(), true;
    publish();
    return true;
}

void ProblemFinder::tell_found() {
    shown_.found = std::make_shared<const FoundProblems>(search_->found());
    found_ids_ = std::move(search_ids_);
    shown_.step = step_;
    shown_.seconds = seconds_;
    const FoundProblems& found = *shown_.found;
    end(fmt::format("searched {}: {}, {}, {} ({:.1f} s)", counted(found.photos, "photo"),
                    counted(found.regions.size(), "bad region"),
                    counted(found.holes.size(), "hole"), counted(found.floaters.size(), "floater"),
                    seconds_));
}

void ProblemFinder::tell_point() {
    shown_.point = std::make_shared<const PointInPhotos>(point_->found());
    shown_.point_step = step_;
    const PointInPhotos& found = *shown_.point;
    end(fmt::format(
        "{} this place, it is hidden in {} and outside of {}",
        counted(found.photos.size(), "photo", found.photos.size() == 1 ? "sees" : "see"),
        found.hidden, found.outside));
}

void ProblemFinder::end(const std::string& told) {
    const std::uint64_t command = command_;
    search_.reset();
    point_.reset();
    rasterizer_.reset();
    model_.reset();
    command_ = 0;
    ++shown_.crops;
    publish();
    ctx_.tell.status.at_once();
    ctx_.tell.done(told, false, {}, command);
}

bool ProblemFinder::cancel(const std::string& name) {
    if ((!search_ && !point_) || !(name.empty() || name == "problems")) return false;
    end("the search for problems was cancelled: earlier results were kept");
    return true;
}

void ProblemFinder::clear() {
    (void)cancel({});
    forget();
}

void ProblemFinder::forget() {
    search_.reset();
    point_.reset();
    rasterizer_.reset();
    model_.reset();
    search_ids_ = {};
    found_ids_ = {};
    command_ = 0;
    shown_ = {shown_.serial, {}, 0, nullptr, 0, 0, nullptr, 0, shown_.crops + 1, {}};
    ctx_.tell.changed().problems = nullptr;
    ctx_.tell.status.changed = true;
}

bool ProblemFinder::is_there(ProblemKind kind, std::size_t index) {
    static const FoundProblems kNone;
    const FoundProblems& found = shown_.found ? *shown_.found : kNone;
    const std::array<std::size_t, kProblemKindNames.size()> counts{
        found.regions.size(), found.holes.size(), found.gaussians.size(), found.floaters.size(),
        shown_.point ? shown_.point->photos.size() : 0};
    const auto k = static_cast<std::size_t>(kind);
    if (index < counts[k]) return true;
    ctx_.tell.error(fmt::format("no {} {}: {}", kProblemKindNames[k], index + 1,
                                counts[k] == 0
                                    ? std::string("none found; run problems.find to search")
                                    : fmt::format("the last one is {}", counts[k])));
    return false;
}

/// Where Gaussians lie now that lay in `rows` when they were looked at, without those that are
/// gone: steps of training renumber them.
std::vector<std::uint64_t> ProblemFinder::rows_now(std::span<const std::uint32_t> rows) const {
    if (!ctx_.scene->trainer) return {rows.begin(), rows.end()};
    std::vector<std::uint32_t> ids;
    for (const std::uint32_t row : rows) ids.push_back(found_ids_[row]);
    std::vector<std::uint64_t> out;
    for (const std::uint32_t row : rows_of_ids(ids, ctx_.scene->trainer->ids()))
        if (row != kNoSuchRow) out.push_back(row);
    return out;
}

/// Existing rows of a Gaussian or a floater, the one to turn to first; empty, with an error
/// reported, if none exists any more.
std::vector<std::uint64_t> ProblemFinder::rows_of(ProblemKind kind, std::size_t index) {
    const FoundProblems& found = *shown_.found;
    std::vector<std::uint32_t> then;
    if (kind == ProblemKind::gaussian) {
        then = {static_cast<std::uint32_t>(found.gaussians[index].row)};
    } else {
        then = {static_cast<std::uint32_t>(found.floaters[index].row)};
        for (const std::uint32_t row : found.floaters[index].rows)
            if (row != then.front()) then.push_back(row);
    }
    auto now = rows_now(then);
    if (now.empty())
        ctx_.tell.error(fmt::format(
            "{} {} no longer exists: training removed it after step {}; run problems.find again",
            kProblemKindNames[static_cast<std::size_t>(kind)], index + 1, shown_.step));
    return now;
}

void ProblemFinder::go(ProblemKind kind, std::size_t index) {
    if (!is_there(kind, index)) return;
    const auto mark_region = [&](const char* name, const PhotoRegion& region) {
        shown_.mark = {region.view, region.rect,
                       fmt::format("{} {}: {}", name, index + 1, format_db(region.psnr))};
    };
    if (kind == ProblemKind::region) mark_region("region", shown_.found->regions[index]);
    if (kind == ProblemKind::hole) mark_region("hole", shown_.found->holes[index]);
    if (kind == ProblemKind::gaussian || kind == ProblemKind::floater) {
        const auto rows = rows_of(kind, index);
        if (!rows.empty()) doctor_.mark(rows.front());
    }
    if (kind == ProblemKind::seen) {
        const PointInPhoto& one = shown_.point->photos[index];
        const int x = static_cast<int>(one.x), y = static_cast<int>(one.y);
        shown_.mark = {one.view,
                       {x - kPointReach, y - kPointReach, x + kPointReach + 1, y + kPointReach + 1},
                       fmt::format("the place, error {}", format_number(one.error, 3))};
    }
    publish();
}

void ProblemFinder::select(ProblemKind kind, std::size_t index) {
    if (!is_there(kind, index)) return;
    const auto rows = rows_of(kind, index);
    if (rows.empty()) return;
    editor_.select_rows(
        {fmt::format("{} {}", kProblemKindNames[static_cast<std::size_t>(kind)], index + 1)}, rows);
}

void ProblemFinder::describe(Published& view) const {
    if (shown_.doing.empty()) return;
    view.activities.push_back({"problems", shown_.doing, shown_.share, seconds_since(begun_)});
}

void ProblemFinder::publish() {
    shown_.doing.clear();
    shown_.share = 0;
    if (search_) {
        shown_.doing = search_->doing();
        shown_.share = share_of(search_->done(), search_->total());
    } else if (point_) {
        shown_.doing = fmt::format("searching the place in photo {} of {}", point_->done() + 1,
                                   point_->total());
        shown_.share = share_of(point_->done(), point_->total());
    }
    ++shown_.serial;
    ctx_.tell.changed().problems = std::make_shared<const PhotoProblems>(shown_);
    ctx_.tell.status.changed = true;
}

}  // namespace gs
