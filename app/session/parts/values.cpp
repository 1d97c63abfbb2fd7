#include "app/session/parts/values.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "app/session/parts/scene_info.h"
#include "app/session/parts/value_kinds.h"
#include "base/parallel.h"
#include "renderer/raster/no_sink.h"

namespace gs {
namespace {

constexpr std::size_t kMostValueSamples = 200000;  // a histogram's shape needs no more

/// Of every k-th where there are many.
Histogram histogram_of_values(const ValueKind& kind, const Buffer<float>& by_row) {
    std::vector<float> samples;
    const std::size_t stride = std::max<std::size_t>(1, by_row.size() / kMostValueSamples);
    for (std::size_t i = 0; i < by_row.size(); i += stride) samples.push_back(by_row[i]);
    return histogram_of(kind.name, kind.unit, std::move(samples), kind.logarithmic);
}

template <class Counts>
std::uint64_t count_rows(const Buffer<float>& by_row, Counts&& counts) {
    std::atomic<std::uint64_t> sum = 0;
    parallel_ranges(by_row.size(), 16384, [&](std::size_t begin, std::size_t end) {
        std::uint64_t here = 0;
        for (std::size_t i = begin; i < end; ++i) here += counts(by_row[i]) ? 1 : 0;
        sum += here;
    });
    return sum;
}

/// The smallest and the largest number there is, at least as far apart as the histogram's ends.
void find_ends(const Buffer<float>& by_row, GaussianValues& values) {
    values.least = values.histogram.lo;
    values.most = values.histogram.hi;
    for (const float v : by_row.span()) {
        if (!std::isfinite(v)) continue;
        values.least = std::min(values.least, static_cast<double>(v));
        values.most = std::max(values.most, static_cast<double>(v));
    }
}

/// Those that the trainer of another process gave; null: it gave none.
const Buffer<float>* given_values(const LoadedScene& scene, GaussianValue value) {
    if (!scene.followed) return nullptr;
    const Buffer<float>* const of = value == GaussianValue::gradient ? &scene.followed->gradients
                                    : value == GaussianValue::second_moment
                                        ? &scene.followed->second_moments
                                        : nullptr;
    return of && !of->empty() ? of : nullptr;
}

}  // namespace

void Values::follow(const Shown& shown, const ViewRequest& request) {
    const ColorBy& wanted = request.settings.color_by;
    if (wanted.value == GaussianValue::none) {
        if (key_.value != GaussianValue::none) clear();
        return;
    }
    // Values that depend on the camera are computed again when it rests.
    const bool of_camera = is_of_camera(wanted.value);
    const Key key{wanted.value, shown.scene.steps_done(),
                  !of_camera                                     ? 0
                  : request.moving && key_.value == wanted.value ? key_.request
                                                                 : request.serial};
    const bool found = key == key_ && rows_ == shown.scene.gaussian_count();
    if (found && wanted == painted_) return;
    if (!found) {
        const auto begin = std::chrono::steady_clock::now();
        key_ = key;
        find(shown, request);
        the<Viewer>().add_picture(shown, seconds_since(begin));
    }
    paint(wanted);
}

std::optional<Hits> Values::within(const Shown& shown, const ViewRequest& request) {
    follow(shown, request);
    const auto no_values = [&](const std::string& why) {
        ctx_.events.error("cannot select by value: " + why);
        return std::nullopt;
    };
    if (key_.value == GaussianValue::none)
        return no_values("Gaussians have their own colours: choose a value with color.by");
    if (!found_.problem.empty()) return no_values(found_.problem);
    const auto lo = static_cast<float>(found_.lo), hi = static_cast<float>(found_.hi);
    Hits hits(by_row_.size());
    for (std::size_t i = 0; i < hits.size(); ++i)
        hits[i] = by_row_[i] >= lo && by_row_[i] <= hi ? 1 : 0;
    return hits;
}

void Values::before_picture(const Shown* shown) {
    if (!shown || !the<Viewer>().looks()) return;
    const LoadedScene& scene = shown->scene;
    const std::uint64_t before = std::exchange(followed_, scene.steps_done());
    if (key_.value == GaussianValue::none || followed_ == before || !scene.run) return;
    // Only density control moves rows, and going back to a snapshot.
    if (followed_ != before + 1 || scene.run->record().last.densified ||
        scene.gaussian_count() != rows_)
        follow(*shown, *the<Viewer>().request());
}

void Values::clear() {
    if (key_.value == GaussianValue::none) return;
    key_ = {};
    by_row_.resize_discard(0);
    the<ShownTint>().set_values({});
    ctx_.events.changed().values = nullptr;
}

void Values::find(const Shown& shown, const ViewRequest& request) {
    LoadedScene& scene = shown.scene;
    const GaussianValue value = key_.value;
    const auto rows = static_cast<std::size_t>(scene.gaussian_count());
    found_ = {};
    found_.value = value;
    found_.step = key_.step;
    rows_ = rows;
    by_row_.resize_discard(0);
    const Buffer<float>* const given = given_values(scene, value);
    if (given) {
        by_row_.resize_discard(given->size());
        std::copy(given->begin(), given->end(), by_row_.begin());
        found_.note = "from the trainer";
    } else if (is_of_run(value) && !scene.trainer) {
        found_.problem = "only in a training run: open a capture or a checkpoint";
    } else if (is_of_run(value)) {
        look_at_arrays(scene.trainer->backend(),
                       [&](const RunArrays& run) { values_of_run(value, run, by_row_); });
        if (value == GaussianValue::density || value == GaussianValue::views)
            found_.note = "since the last round of density control";
        if (by_row_.empty())
            found_.problem = value == GaussianValue::filter
                                 ? "this run has no 3D filter: train with --filter-3d"
                                 : "no data gathered yet";
    } else if (value == GaussianValue::level) {
        if (scene.level_runs.empty())
            found_.problem = "this scene has one level";
        else
            values_of_levels(scene.level_runs, rows, by_row_);
    } else if (is_of_camera(value)) {
        by_row_.resize_discard(rows);
        by_row_.fill(0);
        GradientNorms norms(by_row_);
        ErrorShares errors(by_row_);
        NoSink none;
        GradientSink& sink = value == GaussianValue::gradient ? static_cast<GradientSink&>(norms)
                             : value == GaussianValue::error  ? static_cast<GradientSink&>(errors)
                                                              : none;
        RenderResult picture;
        const auto drawn = the<Viewer>().gradients(
            shown, request, value == GaussianValue::error ? Upstream::error : Upstream::loss, sink,
            picture);
        found_.note =
            value == GaussianValue::cost ? "from this camera" : drawn.note + ", from this camera";
        if (value == GaussianValue::cost)
            for (std::size_t i = 0; i < rows; ++i)
                by_row_[i] = static_cast<float>(picture.costs.evaluated[i]);
        else if (!drawn.gradients)
            by_row_.resize_discard(0), found_.problem = drawn.note;
    } else {
        values_of_model(value, the<Viewer>().current_model(scene), by_row_);
    }
    found_.histogram = histogram_of_values(kind_of(value), by_row_);
    found_.rows = by_row_.size();
    found_.finite = count_rows(by_row_, [](float v) { return std::isfinite(v); });
    find_ends(by_row_, found_);
}

void Values::paint(const ColorBy& wanted) {
    painted_ = wanted;
    found_.lo = wanted.automatic ? found_.histogram.lo : wanted.lo;
    found_.hi = wanted.automatic ? found_.histogram.hi : wanted.hi;
    const auto lo = static_cast<float>(found_.lo), hi = static_cast<float>(found_.hi);
    found_.within = count_rows(by_row_, [&](float v) { return v >= lo && v <= hi; });
    the<ShownTint>().set_values({by_row_.span(), found_.lo, found_.hi, found_.histogram.logarithmic,
                                 wanted.filter, wanted.map});
    ctx_.events.changed().values = std::make_shared<const GaussianValues>(found_);
}

}  // namespace gs
