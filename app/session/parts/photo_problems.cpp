#include "app/session/parts/photo_problems.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "base/seconds.h"
#include "renderer/edit/row_change.h"

namespace gs {
namespace {

constexpr const char* kSearchJob = "problems";

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

std::string text_of(const FoundProblems& found, double seconds) {
    return fmt::format("searched {}: {}, {}, {} ({:.1f} s)", counted(found.photos, "photo"),
                       counted(found.regions.size(), "bad region"),
                       counted(found.holes.size(), "hole"),
                       counted(found.floaters.size(), "floater"), seconds);
}

std::string text_of(const PointInPhotos& found) {
    return fmt::format(
        "{} this place, it is hidden in {} and outside of {}",
        counted(found.photos.size(), "photo", found.photos.size() == 1 ? "sees" : "see"),
        found.hidden, found.outside);
}

}  // namespace

bool ProblemFinder::may_look(const char* what) {
    const auto& scene = ctx_.scene;
    if (!scene)
        ctx_.events.error(fmt::format("no scene is open to {}", what));
    else if (!scene->capture || scene->capture->views.empty())
        ctx_.events.error(
            fmt::format("{} has no photos to {}: open it with its capture (open SPLATS CAPTURE)",
                        scene->name, what));
    else
        return true;
    return false;
}

/// A rasterizer of its own, and the model as it is now. Null, with an error reported.
std::shared_ptr<ProblemFinder::Search> ProblemFinder::prepare() {
    auto rasterizer = ctx_.options.make_rasterizer();
    if (!rasterizer) {
        ctx_.events.error(rasterizer.error().text());
        return nullptr;
    }
    std::shared_ptr<const GaussianModel> model = ctx_.scene->model;
    if (ctx_.scene->trainer)
        model = std::make_shared<const GaussianModel>(ctx_.scene->trainer->model());
    return std::make_shared<Search>(
        Search{std::move(*rasterizer), std::move(model), ctx_.scene->steps_done()});
}

void ProblemFinder::start(std::shared_ptr<Search> search) {
    const auto doing = [](const Search& one) {
        if (one.photos) return one.photos->doing();
        return fmt::format("searching the place in photo {} of {}", one.place->done() + 1,
                           one.place->total());
    };
    of_photos_ = search->photos.has_value();
    publish();
    ctx_.jobs.start_slices(
        {kSearchJob, doing(*search), ctx_.events.command},
        [search, doing](const Shown&, const Progress& progress) {
            const auto begin = std::chrono::steady_clock::now();
            const bool more = search->photos ? search->photos->next() : search->place->next();
            search->seconds += seconds_since(begin);
            search->photos
                ? progress(doing(*search), search->photos->done(), search->photos->total())
                : progress(doing(*search), search->place->done(), search->place->total());
            return more ? Jobs::Slice::worked : Jobs::Slice::ended;
        },
        [this, search, command = ctx_.events.command] { take(*search, command); },
        ctx_.events.if_failed("the search for problems was cancelled: earlier results were kept"));
}

void ProblemFinder::find() {
    if (!may_look("find problems in")) return;
    const bool searching = ctx_.jobs.running(kSearchJob) && of_photos_;
    if (searching) return ctx_.events.error("a search for problems is already running");
    ctx_.jobs.drop(kSearchJob);  // before another rasterizer is made
    const auto search = prepare();
    if (!search) return;
    search->photos.emplace(search->model, ctx_.scene->capture, all_views(*ctx_.scene->capture),
                           *search->rasterizer, options_for_photos(*ctx_.scene));
    if (ctx_.scene->trainer) search->ids = ctx_.scene->trainer->identity().ids();
    shown_.mark.reset();
    start(search);
}

void ProblemFinder::point(const ViewRequest& request, double x, double y) {
    if (!may_look("find a place in")) return;
    if (ctx_.jobs.running(kSearchJob) && of_photos_)
        return ctx_.events.error(
            "a search for problems is running: wait for it, or run problems.cancel first");
    ctx_.jobs.drop(kSearchJob);  // of another place
    const auto search = prepare();
    if (!search) return;
    PhotoDrawer drawer(search->model, *search->rasterizer, options_for_photos(*ctx_.scene));
    const Camera camera = camera_of(*ctx_.scene, request, 1, false);
    const auto place = point_of_pixel(drawer, camera, static_cast<int>(x * camera.width),
                                      static_cast<int>(y * camera.height));
    if (!place) return ctx_.events.done("nothing at this pixel: half of the light passes through");
    search->place.emplace(std::move(drawer), ctx_.scene->capture, *place);
    shown_.point.reset();
    start(search);
}

void ProblemFinder::take(Search& search, std::uint64_t command) {
    ++shown_.crops;
    std::string text;
    const UnreadPhotos* unread = nullptr;
    if (search.photos) {
        shown_.found = std::make_shared<const FoundProblems>(search.photos->found());
        found_ids_ = std::move(search.ids);
        shown_.step = search.step;
        shown_.seconds = search.seconds;
        text = text_of(*shown_.found, search.seconds);
        unread = &shown_.found->unread;
    } else {
        shown_.point = std::make_shared<const PointInPhotos>(search.place->found());
        shown_.point_step = search.step;
        text = text_of(*shown_.point);
        unread = &shown_.point->unread;
    }
    if (unread->count > 0) ctx_.events.warning(unread->words());
    publish();
    ctx_.events.done(text, false, {}, command);
}

void ProblemFinder::clear() {
    (void)ctx_.jobs.cancel(kSearchJob);
    forget();
}

void ProblemFinder::forget() {
    ctx_.jobs.drop(kSearchJob);
    found_ids_ = {};
    shown_ = {shown_.serial, nullptr, 0, 0, nullptr, 0, shown_.crops + 1, {}};
    ctx_.events.changed().problems = nullptr;
}

bool ProblemFinder::is_there(ProblemKind kind, std::size_t index) {
    static const FoundProblems kNone;
    const FoundProblems& found = shown_.found ? *shown_.found : kNone;
    const std::array<std::size_t, kProblemKindNames.size()> counts{
        found.regions.size(), found.holes.size(), found.gaussians.size(), found.floaters.size(),
        shown_.point ? shown_.point->photos.size() : 0};
    const auto k = static_cast<std::size_t>(kind);
    if (index < counts[k]) return true;
    ctx_.events.error(fmt::format("no {} {}: {}", kProblemKindNames[k], index + 1,
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
    for (const std::uint32_t row : rows_of_ids(ids, ctx_.scene->trainer->identity().ids()))
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
        ctx_.events.error(fmt::format(
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
        if (!rows.empty()) the<SceneDoctor>().mark(rows.front());
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
    the<Selector>().select_rows(
        {fmt::format("{} {}", kProblemKindNames[static_cast<std::size_t>(kind)], index + 1)}, rows);
}

void ProblemFinder::publish() {
    ++shown_.serial;
    ctx_.events.changed().problems = std::make_shared<const PhotoProblems>(shown_);
}

}  // namespace gs
