#include "renderer/scene/gaussian_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gs {
namespace {

std::size_t round_up(std::size_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

// Opacity logit of rows that are not in use: sigmoid(-100) is far below every cut.
constexpr float kPaddingLogit = -100.0f;

}  // namespace

GaussianModel::GaussianModel(std::size_t n, int degree, std::size_t room)
    : count(n), capacity(round_up(std::max({n, room, kBlock}))), sh_degree(degree) {
    values.resize(static_cast<std::size_t>(planes()) * capacity, 0.0f);
    std::fill_n(plane(kQuats), capacity, 1.0f);
    std::fill(plane(kOpacityLogits) + count, plane(kOpacityLogits) + capacity, kPaddingLogit);
}

GaussianModel GaussianModel::to_fill(std::size_t n, int degree) {
    GaussianModel out;
    out.count = n;
    out.capacity = round_up(std::max(n, kBlock));
    out.sh_degree = degree;
    out.values.resize_discard(static_cast<std::size_t>(out.planes()) * out.capacity);
    for (int p = 0; p < out.planes(); ++p)
        std::fill(out.plane(p) + n, out.plane(p) + out.capacity,
                  p == kQuats           ? 1.0f
                  : p == kOpacityLogits ? kPaddingLogit
                                        : 0.0f);
    return out;
}

void GaussianModel::set_about(const GaussianModel& like) {
    antialiased = like.antialiased;
    origin = like.origin;
    sky = like.sky;
}

GaussianModel GaussianModel::resized(std::size_t new_capacity, int new_sh_degree) const {
    GaussianModel out(count, new_sh_degree, new_capacity);
    out.set_about(*this);
    for (int p = 0; p < std::min(planes(), out.planes()); ++p)
        std::copy_n(plane(p), count, out.plane(p));
    return out;
}

bool bounds_of(const GaussianModel& model, Vec3f& lo, Vec3f& hi) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    lo = {kInfinity, kInfinity, kInfinity};
    hi = {-kInfinity, -kInfinity, -kInfinity};
    for (std::size_t i = 0; i < model.count; ++i) {
        const Vec3f m = model.mean(i);
        if (!std::isfinite(m.x + m.y + m.z)) continue;
        lo = {std::min(lo.x, m.x), std::min(lo.y, m.y), std::min(lo.z, m.z)};
        hi = {std::max(hi.x, m.x), std::max(hi.y, m.y), std::max(hi.z, m.z)};
    }
    return lo.x <= hi.x;
}

}  // namespace gs
