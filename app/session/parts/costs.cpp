#include "app/session/parts/costs.h"

#include <algorithm>
#include <cmath>

#include "app/session/shown_tint.h"
#include "base/format.h"
#include "renderer/edit/row_change.h"
#include "trainer/loss/metrics.h"

namespace gs {
namespace {

constexpr std::size_t kMostListed = 1000, kMostPhotos = 100;
constexpr const char* kPhotosJob = "costs";

/// Adds a tile's costs, `share` of them.
struct Adder {
    const RenderResult& frame;
    double forward_ns = 0, backward_ns = 0, isects = 0, evaluated = 0, blended = 0, backward = 0;

    void add(std::size_t tile, double share) {
        forward_ns += share * static_cast<double>(frame.costs.tile_ns[tile]);
        isects += share * frame.isects_per_tile[tile];
        evaluated += share * frame.costs.tile_evaluated[tile];
        blended += share * frame.costs.tile_blended[tile];
        if (frame.backward_costs.empty()) return;
        backward_ns += share * static_cast<double>(frame.backward_costs.tile_ns[tile]);
        backward += share * frame.backward_costs.tile_evaluated[tile];
    }
    CostSums sums() const {
        const auto whole = [](double x) { return static_cast<std::uint64_t>(std::llround(x)); };
        return {forward_ns,       backward_ns,    whole(isects),
                whole(evaluated), whole(blended), whole(backward)};
    }
};

CostSums sums_of(const RenderResult& frame) {
    Adder adder{frame};
    for (std::size_t tile = 0; tile < frame.costs.tile_ns.size(); ++tile) adder.add(tile, 1);
    return adder.sums();
}

/// Sums over the tiles that the box touches, by the share of each tile inside it.
CostSums sums_of(const RenderResult& frame, const CostReport::Region& box) {
    Adder adder{frame};
    for (int y = box.y0 / kTileSize; y * kTileSize < box.y1; ++y)
        for (int x = box.x0 / kTileSize; x * kTileSize < box.x1; ++x) {
            const auto overlap = [](int tile, int size, int lo, int hi) {
                const int begin = tile * kTileSize, end = std::min(begin + kTileSize, size);
                return static_cast<double>(std::min(end, hi) - std::max(begin, lo)) / (end - begin);
            };
            adder.add(
                static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.tiles_x) +
                    static_cast<std::size_t>(x),
                overlap(x, frame.width, box.x0, box.x1) * overlap(y, frame.height, box.y0, box.y1));
        }
    return adder.sums();
}

/// Rows that cost anything, the most expensive first; of equal ones the lower row.
std::vector<std::uint32_t> rows_by_cost(const Buffer<std::uint32_t>& evaluated) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < evaluated.size(); ++row)
        if (evaluated[row] > 0) rows.push_back(static_cast<std::uint32_t>(row));
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return evaluated[a] > evaluated[b]; });
    return rows;
}

std::string place_of(const LoadedScene& scene, int view) {
    if (view < 0 || !scene.capture) return "the free camera";
    return fmt::format("photo {}, {}", view,
                       scene.capture->views[static_cast<std::size_t>(view)].name);
}

/// The test photos, or all where none is kept back; at most kMostPhotos, spread over them. Last
/// first.
std::vector<std::size_t> photos_to_measure(const LoadedScene& scene) {
    std::vector<std::size_t> test, all, out;
    if (!scene.capture) return {};
    for (std::size_t i = 0; i < scene.capture->views.size(); ++i) {
        const View& view = scene.capture->views[i];
        if (!has_photo(view)) continue;
        all.push_back(i);
        if (view.test) test.push_back(i);
    }
    const std::vector<std::size_t>& from = test.empty() ? all : test;
    const std::size_t count = std::min(from.size(), kMostPhotos);
    for (std::size_t i = count; i > 0; --i) out.push_back(from[(i - 1) * from.size() / count]);
    return out;
}

std::vector<std::uint32_t> hidden_rows(const GaussianTint& tint) {
    std::vector<std::uint32_t> out;
    for (std::size_t row = 0; row < tint.words.size(); ++row)
        if (GaussianTint::hidden(tint.words[row])) out.push_back(static_cast<std::uint32_t>(row));
    return out;
}

/// Hides only these rows; null when there are none.
std::shared_ptr<const GaussianTint> tint_without(std::span<const std::uint32_t> rows) {
    if (rows.empty()) return nullptr;
    auto out = std::make_shared<GaussianTint>();
    out->words.resize_discard(std::size_t{*std::max_element(rows.begin(), rows.end())} + 1);
    out->words.fill(GaussianTint::kOwn);
    for (const std::uint32_t row : rows) out->words[row] = GaussianTint::kHidden;
    return out;
}

/// Of a tint that hides some of the rows that had the ids `before`: the same Gaussians in the rows
/// of `ids`; null when one of them has gone.
std::shared_ptr<const GaussianTint> moved(const GaussianTint& tint,
                                          std::span<const std::uint32_t> before,
                                          std::span<const std::uint32_t> ids) {
    std::vector<std::uint32_t> wanted = hidden_rows(tint);
    for (std::uint32_t& row : wanted) row = before[row];
    std::vector<std::uint32_t> rows = rows_of_ids(wanted, ids);
    if (std::find(rows.begin(), rows.end(), kNoSuchRow) != rows.end()) return nullptr;
    return tint_without(rows);
}

}  // namespace

void Costs::measure(const Shown& shown, const ViewRequest& request) {
    hidden_ = shown.tint ? shown.tint->hiding() : nullptr;
    const std::string note = the<Viewer>().draw_costs(shown, request, hidden_, true, measured_);
    std::optional<CostReport::Region> region = report_ ? report_->region : std::nullopt;
    ctx_.jobs.drop(kPhotosJob);
    report_.emplace();
    report_->step = shown.scene.steps_done();
    report_->width = measured_.width;
    report_->height = measured_.height;
    report_->camera = camera_of(shown.scene, request, 1.0, false);
    report_->from = place_of(shown.scene, request.settings.capture_view);
    report_->note = note;
    report_->frame = sums_of(measured_);
    by_cost_ = rows_by_cost(measured_.costs.evaluated);
    report_->gaussians = by_cost_.size();
    std::uint64_t so_far = 0;
    while (report_->for_half < by_cost_.size() && 2 * so_far < report_->frame.evaluated)
        so_far += measured_.costs.evaluated[by_cost_[report_->for_half++]];
    if (region && region->x1 <= measured_.width && region->y1 <= measured_.height) {
        region->sums = sums_of(measured_, *region);
        report_->region = region;  // stays where it was
    }
    list();
}

void Costs::region(const Shown& shown, const ViewRequest& request, const Box& wanted) {
    measure(shown, request);
    const auto pixel = [](double share, int size) {
        return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * size));
    };
    const auto [x0, x1] =
        std::minmax({pixel(wanted.x0, measured_.width), pixel(wanted.x1, measured_.width)});
    const auto [y0, y1] =
        std::minmax({pixel(wanted.y0, measured_.height), pixel(wanted.y1, measured_.height)});
    CostReport::Region box{x0, y0, x1, y1, {}};
    if (box.x0 >= box.x1 || box.y0 >= box.y1)
        return ctx_.events.error(fmt::format("the region contains no pixel of the {} x {} frame",
                                             measured_.width, measured_.height));
    box.sums = sums_of(measured_, box);
    report_->region = box;
    publish();
}

void Costs::top(std::size_t count) {
    listed_ = std::min(count, kMostListed);
    if (report_) list();
}

void Costs::list() {
    report_->top.clear();
    const BlendCosts &forward = measured_.costs, &backward = measured_.backward_costs;
    for (std::size_t i = 0; i < std::min(listed_, by_cost_.size()); ++i) {
        const std::uint32_t row = by_cost_[i];
        report_->top.push_back({row, forward.evaluated[row], forward.blended[row],
                                backward.empty() ? 0 : backward.evaluated[row]});
    }
    publish();
}

void Costs::without(const Shown& shown, const ViewRequest& request, std::size_t count) {
    measure(shown, request);
    count = std::min(count, by_cost_.size());
    if (count == 0) return ctx_.events.error("no visible Gaussians here to leave out");
    std::vector<std::uint32_t> rows;
    if (hidden_) rows = hidden_rows(*hidden_);
    CostWithout& out = report_->without.emplace();
    out.count = count;
    std::uint64_t saved = 0;
    for (std::size_t i = 0; i < count; ++i) {
        saved += measured_.costs.evaluated[by_cost_[i]];
        rows.push_back(by_cost_[i]);
    }
    out.share = static_cast<double>(saved) / static_cast<double>(report_->frame.evaluated);
    without_ = tint_without(rows);
    RenderResult frame;
    the<Viewer>().draw_costs(shown, request, without_, false, frame);
    out.ns = report_->frame.forward_ns;
    out.ns_without = sums_of(frame).forward_ns;
    followed_ = shown.scene.steps_done();
    ids_.clear();
    if (shown.scene.trainer) ids_ = shown.scene.trainer->identity().ids();
    photos_ = photos_to_measure(shown.scene);
    out.photos = photos_.size();
    sum_ = sum_without_ = 0;
    publish();
    if (photos_.empty()) return;
    ctx_.jobs.start_slices(
        {kPhotosJob}, [this](const Shown& now, const Progress&) { return measure_next(now); },
        [this] { tell_change(); },
        [this](const Error& error) {  // the remaining photos are not measured
            if (report_->without->done == 0) report_->without.reset();
            publish();
            if (error.kind != ErrorKind::cancelled) ctx_.events.warning(error.text());
        });
}

Result<Jobs::Slice> Costs::measure_next(const Shown& shown) {
    if (!follow_rows(shown.scene))
        return fail(ErrorKind::usage, "",
                    "some of the Gaussians to leave out no longer exist: run the command again");
    const std::size_t view = photos_.back();
    photos_.pop_back();
    measure_photo(shown, view);
    publish();
    return photos_.empty() ? Jobs::Slice::ended : Jobs::Slice::worked;
}

/// Density control of a run may have moved rows since: finds them by their ids. False: some no
/// longer exist.
bool Costs::follow_rows(const LoadedScene& scene) {
    if (!scene.trainer || followed_ == scene.steps_done()) return true;
    followed_ = scene.steps_done();
    std::vector<std::uint32_t> ids = scene.trainer->identity().ids();
    if (ids == ids_) return true;
    without_ = moved(*without_, ids_, ids);
    if (!without_) return false;  // holds all of hidden_
    if (hidden_) hidden_ = moved(*hidden_, ids_, ids);
    ids_ = std::move(ids);
    return true;
}

void Costs::measure_photo(const Shown& shown, std::size_t index) {
    const WholeView view(shown.scene.capture->views[index]);
    RenderResult picture;
    const auto psnr = [&](const std::shared_ptr<const GaussianTint>& tint) {
        the<Viewer>().draw_photo(shown, index, tint, picture);
        return has_photo(*view) ? score_picture(picture.color, view->photo, view->mask).psnr
                                : std::numeric_limits<double>::quiet_NaN();
    };
    const double with = psnr(hidden_), without = psnr(without_);
    CostWithout& out = *report_->without;
    if (!std::isfinite(with) || !std::isfinite(without)) {  // masked entirely, or gone
        --out.photos;
        if (!view.problem().empty()) out.unread.add(view.problem());
        return;
    }
    sum_ += with;
    sum_without_ += without;
    ++out.done;
    out.psnr = sum_ / static_cast<double>(out.done);
    out.psnr_without = sum_without_ / static_cast<double>(out.done);
}

void Costs::tell_change() {
    const CostWithout& out = *report_->without;
    if (out.unread.count > 0) ctx_.events.warning(out.unread.words());
    if (out.done == 0) return;
    ctx_.events.done(
        fmt::format("without the {} most expensive Gaussians {} photos have {} dB instead of {} dB",
                    format_count(static_cast<double>(out.count)), out.done,
                    format_number(out.psnr_without, 4), format_number(out.psnr, 4)));
}

void Costs::measure_limits(bool again) {
    if (!ctx_.options.limits)
        return ctx_.events.error("this machine's limits cannot be measured here");
    auto limits = ctx_.options.limits(again);
    if (!limits) return ctx_.events.error(limits.error().text());
    ctx_.events.done("measured the limits of " + limits->machine);
    ctx_.events.changed().limits = std::move(*limits);
}

void Costs::clear() {
    report_.reset();
    measured_ = {};
    by_cost_.clear();
    ctx_.jobs.drop(kPhotosJob);
    hidden_ = without_ = nullptr;
    ids_.clear();
    ctx_.events.changed().cost_report = nullptr;
}

void Costs::publish() {
    ctx_.events.changed().cost_report = std::make_shared<const CostReport>(*report_);
}

}  // namespace gs
