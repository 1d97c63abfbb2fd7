#include "renderer/problems/problem_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "renderer/problems/floaters.h"

namespace gs {
namespace {

constexpr int kLeastCrop = 48;  // pixels of a region's surroundings

}  // namespace

ProblemSearch::ProblemSearch(std::shared_ptr<const GaussianModel> model,
                             std::shared_ptr<const Capture> capture, std::vector<std::size_t> views,
                             Rasterizer& rasterizer, const RenderOptions& options,
                             ProblemLists lists)
    : model_(std::move(model)),
      capture_(std::move(capture)),
      views_(std::move(views)),
      drawer_(model_, rasterizer, options),
      blame_(*model_, rasterizer, options),
      lists_(lists) {
    std::erase_if(views_, [&](std::size_t view) {
        return view >= capture_->views.size() || !has_photo(capture_->views[view]);
    });
    if (views_.empty()) conclude();
}

std::string ProblemSearch::doing() const {
    if (next_ < views_.size())
        return fmt::format("examining photo {} of {}", next_ + 1, views_.size());
    return fmt::format("drawing the worst problems, {} of {}",
                       std::min(next_ - views_.size() + 1, again_.size()), again_.size());
}

bool ProblemSearch::next() {
    if (next_ >= total()) return false;
    if (next_ < views_.size())
        look(views_[next_]);
    else
        draw_crops(again_[next_ - views_.size()]);
    if (++next_ == views_.size()) conclude();
    return next_ < total();
}

void ProblemSearch::look(std::size_t index) {
    const WholeView whole(capture_->views[index]);
    if (!has_photo(*whole)) return found_.unread.add(whole.problem());
    const View& view = *whole;
    const RenderResult& drawn = drawer_.draw(view.camera);
    const ImageF error = photo_error(drawn, view);
    const RenderOptions& options = drawer_.options();
    const bool sky = options.sky && !drawer_.model().sky.empty();
    blocks_.push_back(sum_blocks(drawn, error, view, index, sky ? nullptr : &options.background));
    blame_.add(view, index, drawn, error, typical_depth(drawn));
}

void ProblemSearch::conclude() {
    double pixels = 0;
    for (const PhotoBlocks& photo : blocks_)
        for (const PhotoBlock& block : photo.blocks) {
            found_.error_sum += static_cast<double>(block.error);
            pixels += static_cast<double>(block.pixels);
        }
    found_.photos = blocks_.size();
    found_.mean_error = pixels > 0 ? found_.error_sum / pixels : 0;
    found_.region_limit = region_limit(blocks_);
    found_.regions = bad_regions(blocks_, found_.region_limit, lists_.regions);
    found_.holes = holes(blocks_, lists_.holes);
    found_.gaussians = most_blamed(*model_, blame_.sums(), lists_.gaussians);
    FloaterSearch floaters = find_floaters(*model_, blame_.sums(), blocks_.size(), lists_.floaters);
    found_.floaters = std::move(floaters.floaters);
    found_.few_photos = floaters.few_photos;
    found_.apart_cell = floaters.cell;
    found_.gaussians_seen = floaters.seen;
    if (!lists_.crops) return;
    for (const auto* list : {&found_.regions, &found_.holes})
        for (const PhotoRegion& region : *list) again_.push_back(region.view);
    std::sort(again_.begin(), again_.end());
    again_.erase(std::unique(again_.begin(), again_.end()), again_.end());
}

void ProblemSearch::draw_crops(std::size_t index) {
    const WholeView whole(capture_->views[index]);
    if (!has_photo(*whole)) return found_.unread.add(whole.problem());
    const View& view = *whole;
    const RenderResult& drawn = drawer_.draw(view.camera);
    for (auto* list : {&found_.regions, &found_.holes})
        for (PhotoRegion& region : *list)
            if (region.view == index)
                region.crops = crops_of(drawn, view, crop_around(region.rect, kLeastCrop, view));
}

}  // namespace gs
