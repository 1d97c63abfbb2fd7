#include "app/session/parts/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "base/seconds.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/picture_error.h"

namespace gs {
namespace {

constexpr double kRefreshInterval = 0.5;  // seconds between refreshed pictures while training
constexpr double kReadAgain = 2;          // seconds until a photo that could not be read is tried

}  // namespace

void ContactSheet::want(SheetRequest request) {
    wanted_ = std::move(request);
    ctx_.jobs.start_slices(
        {"contact sheet"}, [this](const Shown& shown, const Progress&) { return make_next(shown); },
        [] {}, ctx_.events.if_failed("the contact sheet was cancelled"));
}

void ContactSheet::scene_changed(SceneChange change) {
    if (is_other_model(change)) ++generation_;
    if (change != SceneChange::scene) return;
    const bool any = ctx_.scene && ctx_.scene->capture;
    cells_.assign(any ? ctx_.scene->capture->views.size() : 0, {});
    bytes_ = 0;
    publish();
}

/// The wanted cell whose picture is missing, or is not as it should be since the longest.
ContactSheet::Cell* ContactSheet::next(const Shown& shown) {
    Cell* oldest = nullptr;
    for (const std::size_t view : wanted_.views) {
        if (view >= cells_.size()) continue;
        Cell& cell = cells_[view];
        if (!cell.picture || (wanted_.renders && cell.picture->parts == 1)) return &cell;
        const bool unread = !cell.picture->problem.empty();
        const bool stale =
            cell.width != wanted_.width || (unread && seconds_since(cell.made) > kReadAgain) ||
            (wanted_.renders &&
             (cell.generation != generation_ || cell.picture->step != shown.scene.steps_done()));
        if (stale && (!oldest || cell.picture->serial < oldest->picture->serial)) oldest = &cell;
    }
    const bool waits = shown.training && seconds_since(last_) < kRefreshInterval;
    return waits ? nullptr : oldest;
}

void ContactSheet::make(const Shown& shown, Cell& cell) {
    const auto index = static_cast<std::size_t>(&cell - cells_.data());
    const WholeView whole(shown.scene.capture->views[index]);
    const View& of = *whole;
    const int width = std::min(wanted_.width, of.camera.width);
    const double shrunk = static_cast<double>(width) / of.camera.width;
    // As the viewer rounds it, so that the parts are of one size.
    const int height = std::max(1, static_cast<int>(std::lround(shrunk * of.camera.height)));
    auto made = std::make_shared<SheetPicture>();
    made->serial = ++serial_;
    made->step = shown.scene.steps_done();
    made->parts = wanted_.renders ? 3 : 1;
    made->problem = whole.problem();
    std::vector<Image8> parts{of.photo.empty() ? Image8{} : resize_area(of.photo, width, height)};
    if (wanted_.renders) {
        parts.push_back(the<Viewer>().small_picture(shown, static_cast<int>(index), width)->rgba);
        parts.push_back(difference_picture(parts[1], parts[0], kSheetErrorRange));
    }
    made->strip = beside_each_other(parts, width, height);
    bytes_ += made->strip.bytes.size();
    if (cell.picture) bytes_ -= cell.picture->strip.bytes.size();
    cell = {std::move(made), wanted_.width, generation_, std::chrono::steady_clock::now()};
}

/// Unwanted ones, the oldest first.
void ContactSheet::drop_some() {
    while (bytes_ > kMostBytes) {
        Cell* oldest = nullptr;
        for (std::size_t view = 0; view < cells_.size(); ++view)
            if (Cell& cell = cells_[view];
                cell.picture && (!oldest || cell.picture->serial < oldest->picture->serial) &&
                !std::binary_search(wanted_.views.begin(), wanted_.views.end(), view))
                oldest = &cell;
        if (!oldest) return;
        bytes_ -= oldest->picture->strip.bytes.size();
        *oldest = {};
    }
}

/// Also when the model has changed; so it never ends.
Jobs::Slice ContactSheet::make_next(const Shown& shown) {
    Cell* const cell = wanted_.width > 0 ? next(shown) : nullptr;
    if (!cell) return Jobs::Slice::waited;
    make(shown, *cell);
    drop_some();
    last_ = std::chrono::steady_clock::now();
    publish();
    return Jobs::Slice::worked;
}

void ContactSheet::publish() {
    auto pictures = std::make_shared<std::vector<std::shared_ptr<const SheetPicture>>>();
    for (const Cell& cell : cells_) pictures->push_back(cell.picture);
    ctx_.events.changed().sheet = std::move(pictures);
}

}  // namespace gs
