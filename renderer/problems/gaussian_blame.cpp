#include "renderer/problems/gaussian_blame.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"

namespace gs {
namespace {

constexpr float kC0 = 0.28209479177387814f;  // the constant basis, 1 / (2 sqrt(pi))

GaussianModel in_gray(const GaussianModel& model) {
    GaussianModel out = model.resized(model.capacity, 0);
    out.sky = {};
    for (int c = 0; c < 3; ++c) std::fill_n(out.plane(kSh0 + c), out.capacity, 0.0f);
    return out;
}

/// Takes the three sums of one photo.
class BlameSink final : public GradientSink {
  public:
    BlameSink(const GaussianModel& model, const View& view, std::size_t index, float depth,
              std::vector<GaussianBlame::Sums>& sums)
        : model_(model), camera_(view.camera), index_(index), depth_(depth), sums_(sums) {}
    void take(const BlockGradients& g) override {
        for (std::size_t lane = 0; lane < kBlock; ++lane)
            if (g.mask >> lane & 1u)
                add(g.block * kBlock + lane, g.planes[kSh0][lane] / kC0,
                    g.planes[kSh0 + 1][lane] / kC0, g.planes[kSh0 + 2][lane] / kC0);
    }

  private:
    void add(std::size_t row, float error, float weight, float excess) {
        if (!(weight > 0) || row >= sums_.size()) return;
        GaussianBlame::Sums& to = sums_[row];
        to.error += error;
        to.weight += weight;
        to.excess += excess;
        if (error > to.worst) to.worst = error, to.view = static_cast<std::uint32_t>(index_);
        if (weight < kSeenWeight) return;
        ++to.photos;
        const Vec3f mean = model_.mean(row);
        const Vec3d at{static_cast<double>(mean.x), static_cast<double>(mean.y),
                       static_cast<double>(mean.z)};
        const double z = camera_.depth_of(camera_.rotation * at + camera_.translation);
        if (!(depth_ > 0) || !(z > 0)) return;
        const float nearness = static_cast<float>(z) / depth_;
        if (to.nearness == 0 || nearness < to.nearness) to.nearness = nearness;
    }
    const GaussianModel& model_;
    const Camera& camera_;
    std::size_t index_;
    float depth_;
    std::vector<GaussianBlame::Sums>& sums_;
};

}  // namespace

GaussianBlame::GaussianBlame(const GaussianModel& model, Rasterizer& rasterizer,
                             const RenderOptions& options)
    : gray_(in_gray(model)),
      rasterizer_(rasterizer),
      options_(options),
      source_(rasterizer.source_of(gray_)),
      state_(rasterizer.make_state()),
      sums_(model.count) {
    options_.sh_degree = 0;
    options_.gradients = true;
    options_.depth = options_.median_depth = options_.counters = false;
    options_.background = {0, 0, 0};
    options_.scale_modifier = 1;
    options_.clip.reset();
    options_.tint.reset();
}

void GaussianBlame::add(const View& view, std::size_t index, const RenderResult& drawn,
                        const ImageF& error, float depth) {
    rasterizer_.forward(*source_, view.camera, options_, *state_, result_);
    values_.color.resize(drawn.width, drawn.height, 3);
    const auto width = static_cast<std::size_t>(drawn.width);
    parallel_for(static_cast<std::size_t>(drawn.height), 8, [&](std::size_t y) {
        for (std::size_t i = y * width; i < (y + 1) * width; ++i) {
            const bool masked = !view.mask.bytes.empty() && view.mask.bytes[i] == 0;
            float excess = 0;
            for (int c = 0; c < 3; ++c)
                excess +=
                    std::clamp(drawn.color.plane(c)[i], 0.0f, 1.0f) -
                    static_cast<float>(view.photo.bytes[3 * i + static_cast<std::size_t>(c)]) /
                        255.0f;
            values_.color.plane(0)[i] = masked ? 0.0f : error.plane(0)[i];
            values_.color.plane(1)[i] = masked ? 0.0f : 1.0f;
            values_.color.plane(2)[i] = masked ? 0.0f : excess / 3;
        }
    });
    BlameSink sink(gray_, view, index, depth, sums_);
    rasterizer_.backward(*source_, view.camera, options_, *state_, result_, values_, sink);
}

std::vector<BlamedGaussian> most_blamed(const GaussianModel& model,
                                        const std::vector<GaussianBlame::Sums>& sums,
                                        std::size_t most) {
    std::vector<std::uint32_t> rows(sums.size());
    std::iota(rows.begin(), rows.end(), 0u);
    std::erase_if(rows, [&](std::uint32_t row) { return !(sums[row].error > 0); });
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(most, rows.size()));
    std::partial_sort(rows.begin(), end, rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return sums[a].error != sums[b].error ? sums[a].error > sums[b].error : a < b;
    });
    rows.erase(end, rows.end());
    std::vector<BlamedGaussian> out;
    for (const std::uint32_t row : rows) {
        const GaussianBlame::Sums& s = sums[row];
        BlamedGaussian one{
            .row = row,
            .mean = model.mean(row),
            .error = static_cast<double>(s.error),
            .weight = static_cast<double>(s.weight),
            .excess = static_cast<double>(s.excess),
            .photos = s.photos,
            .view = s.view,
            .opacity = 1 / (1 + std::exp(-model.at(kOpacityLogits, row))),
            .size = std::exp(std::max({model.at(kLogScales, row), model.at(kLogScales + 1, row),
                                       model.at(kLogScales + 2, row)}))};
        out.push_back(one);
    }
    return out;
}

}  // namespace gs
