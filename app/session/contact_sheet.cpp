#include "app/session/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "base/seconds.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/picture_error.h"

namespace gs {
namespace {

constexpr double kRefreshInterval = 0.5;  // seconds between pictures made anew while training

}  // namespace

void ContactSheet::want(SheetRequest request) {
    if (request.width > 0 && request.width != wanted_.width) cells_.assign(cells_.size(), nullptr);
    wanted_ = request;
}

void ContactSheet::begin() {
    const bool any = lent_.scene && lent_.scene->capture;
    cells_.assign(any ? lent_.scene->capture->views.size() : 0, nullptr);
    publish();
}

/// The view whose picture is missing, or the oldest one; cells_.size(): all are as they should be.
std::size_t ContactSheet::next(const Shown& shown) const {
    const auto incomplete = [&](const Cell& cell) {
        return !cell || (wanted_.renders && cell->parts == 1);
    };
    const auto missing = std::find_if(cells_.begin(), cells_.end(), incomplete);
    if (missing != cells_.end() || !wanted_.renders)
        return static_cast<std::size_t>(missing - cells_.begin());
    if (shown.training && seconds_since(last_) < kRefreshInterval) return cells_.size();
    const auto oldest =
        std::min_element(cells_.begin(), cells_.end(),
                         [](const Cell& a, const Cell& b) { return a->step < b->step; });
    if (oldest == cells_.end() || (*oldest)->step == shown.scene.steps_done()) return cells_.size();
    return static_cast<std::size_t>(oldest - cells_.begin());
}

ContactSheet::Cell ContactSheet::make(const Shown& shown, std::size_t view) {
    const View& of = shown.scene.capture->views[view];
    const int width = std::min(wanted_.width, of.camera.width);
    const double shrunk = static_cast<double>(width) / of.camera.width;
    // As the viewer rounds it, so that the parts are of one size.
    const int height = std::max(1, static_cast<int>(std::lround(shrunk * of.camera.height)));
    auto made = std::make_shared<SheetPicture>();
    made->serial = ++serial_;
    made->step = shown.scene.steps_done();
    made->parts = wanted_.renders ? 3 : 1;
    std::vector<Image8> parts{of.photo.empty() ? Image8{} : resize_area(of.photo, width, height)};
    if (wanted_.renders) {
        const auto frame = viewer_.small_picture(shown, static_cast<int>(view), width);
        if (!frame) return nullptr;
        parts.push_back(frame->rgba);
        parts.push_back(difference_picture(frame->rgba, parts[0], kSheetErrorRange));
    }
    made->strip = beside_each_other(parts, width, height);
    return made;
}

bool ContactSheet::draw_when_due(const Shown& shown) {
    if (wanted_.width <= 0 || cells_.empty()) return false;
    const std::size_t view = next(shown);
    if (view >= cells_.size()) return false;
    Cell made = make(shown, view);
    if (!made) return false;
    cells_[view] = std::move(made);
    last_ = std::chrono::steady_clock::now();
    publish();
    return true;
}

void ContactSheet::publish() {
    bytes_ = 0;
    for (const Cell& cell : cells_)
        if (cell) bytes_ += cell->strip.bytes.size();
    Published& view = lent_.tell.changed();
    view.sheet = std::make_shared<const std::vector<Cell>>(cells_);
    lent_.tell.status.changed = true;
}

}  // namespace gs
