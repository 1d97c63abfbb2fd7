#include "renderer/io/splats/level_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>

#include "renderer/scene/origin.h"

namespace gs {
namespace {

constexpr double kBeside = 0.25;      // how large a region outside the picture counts
constexpr double kSmallTurn = 0.01;   // radians
constexpr double kSmallShare = 0.01;  // of a distance, of a focal length

/// How a camera sees a region: factor from its spacing to pixels, 0 where it is invisible.
struct RegionSight {
    double diagonal = 0, pixels_per_unit = 0;
    double spacing(const LevelPiece& piece) const {
        return diagonal * pixels_per_unit /
               std::sqrt(std::max(1.0, static_cast<double>(piece.count)));
    }
};

double length(Vec3d v) { return std::sqrt(dot(v, v)); }

double diagonal_of(const LevelRegion& region) {
    const auto apart = [](float lo, float hi) {
        return static_cast<double>(hi) - static_cast<double>(lo);
    };
    return std::hypot(apart(region.lo.x, region.hi.x), apart(region.lo.y, region.hi.y),
                      apart(region.lo.z, region.hi.z));
}

/// From the nearest point of its box; from inside, as from a tenth of its size away.
double distance_to(const LevelRegion& region, Vec3d eye) {
    const auto beyond = [](float lo, float hi, double v) {
        return std::max({static_cast<double>(lo) - v, v - static_cast<double>(hi), 0.0});
    };
    const double distance =
        std::hypot(beyond(region.lo.x, region.hi.x, eye.x), beyond(region.lo.y, region.hi.y, eye.y),
                   beyond(region.lo.z, region.hi.z, eye.z));
    return std::max({distance, 0.1 * diagonal_of(region), 1e-12});
}

/// The cone, or with parallel rays the cylinder, around the axis that holds the whole picture.
class Sight {
  public:
    explicit Sight(const Camera& camera)
        : eye_(camera.position()),
          forward_(camera.forward()),
          focal_(std::max(camera.fx, camera.fy)),
          parallel_(camera.orthographic()) {
        if (parallel_) {
            reach_ = 0.5 * std::hypot(camera.width, camera.height) / focal_;
            return;
        }
        for (const double x : {0.0, static_cast<double>(camera.width)})
            for (const double y : {0.0, static_cast<double>(camera.height)}) {
                const CameraRay ray = camera.ray_of(x, y);
                const double cosine = std::clamp(dot(ray.direction, forward_), -1.0, 1.0);
                reach_ = std::max(reach_, ray.valid ? std::acos(cosine) : std::numbers::pi);
            }
    }

    RegionSight of(const LevelRegion& region, const std::optional<ClipBox>& clip) const {
        constexpr double kAlways = std::numeric_limits<double>::infinity();
        if (!region.bounded) return {1, kAlways};  // nobody knows how far away it is
        if (clip && region.lies_outside(*clip)) return {};
        const double size = diagonal_of(region);
        const double focal = in_picture(region, 0.5 * size) ? focal_ : kBeside * focal_;
        return {size, parallel_ ? focal : focal / distance_to(region, eye_)};
    }

  private:
    bool in_picture(const LevelRegion& region, double radius) const {
        const Vec3f middle = 0.5f * (region.lo + region.hi);
        const Vec3d to = world_position(middle, {}) - eye_;
        const double along = dot(to, forward_), distance = length(to);
        if (parallel_)
            return std::sqrt(std::max(0.0, distance * distance - along * along)) <= reach_ + radius;
        if (distance <= radius) return true;
        return std::acos(std::clamp(along / distance, -1.0, 1.0)) <=
               reach_ + std::asin(radius / distance);
    }

    Vec3d eye_, forward_;
    double focal_, reach_ = 0;
    bool parallel_;
};

/// One level more for a region.
struct Upgrade {
    double gain = 0;
    std::uint32_t region = 0;
    bool operator<(const Upgrade& other) const {
        return gain != other.gain ? gain < other.gain : region > other.region;
    }
};

class Buyer {
  public:
    Buyer(const LevelSet& set, const Camera& camera, const LevelWish& wish)
        : set_(set), wish_(wish), out_(coarsest_levels(set)) {
        const Sight sight(camera);
        const double picture = static_cast<double>(camera.width) * camera.height;
        for (const LevelRegion& region : set.regions) {
            sights_.push_back(sight.of(region, wish.clip));
            const double across = sights_.back().diagonal * sights_.back().pixels_per_unit;
            out_.coverage.push_back(static_cast<float>(std::min(across * across, picture)));
        }
    }

    LevelChoice buy() && {
        out_.pixels = wish_.pixels;
        out_.over_budget = static_cast<double>(out_.gaussians) > wish_.budget;
        for (std::uint32_t r = 0; r < set_.regions.size(); ++r) offer(r);
        while (!offers_.empty()) {
            const std::uint32_t r = offers_.top().region;
            const auto pieces = set_.pieces_of(set_.regions[r]);
            const std::uint64_t with =
                out_.gaussians - pieces[out_.levels[r]].count + pieces[out_.levels[r] - 1u].count;
            if (static_cast<double>(with) > wish_.budget) break;
            offers_.pop();
            --out_.levels[r];
            out_.gaussians = with;
            offer(r);
        }
        for (; !offers_.empty(); offers_.pop()) {
            const std::uint32_t r = offers_.top().region;
            const double apart =
                sights_[r].spacing(set_.pieces_of(set_.regions[r])[out_.levels[r]]);
            if (std::isfinite(apart)) out_.pixels = std::max(out_.pixels, apart);
        }
        return std::move(out_);
    }

  private:
    void offer(std::uint32_t r) {
        const std::size_t level = out_.levels[r];
        if (level == 0) return;
        const auto pieces = set_.pieces_of(set_.regions[r]);
        if (!(sights_[r].spacing(pieces[level]) > wish_.pixels)) return;
        const auto now = std::max(1.0, static_cast<double>(pieces[level].count)),
                   then = std::max(1.0, static_cast<double>(pieces[level - 1].count));
        const double gain =
            then > now ? static_cast<double>(out_.coverage[r]) * std::log(then / now) / (then - now)
                       : std::numeric_limits<double>::infinity();
        offers_.push({gain, r});
    }

    const LevelSet& set_;
    const LevelWish& wish_;
    std::vector<RegionSight> sights_;
    std::priority_queue<Upgrade> offers_;
    LevelChoice out_;
};

LevelChoice at_level(const LevelSet& set, std::size_t level) {
    LevelChoice out;
    out.levels.reserve(set.regions.size());
    for (const LevelRegion& region : set.regions) {
        const LevelPiece& piece = set.piece(region, level);
        out.levels.push_back(static_cast<std::uint8_t>(&piece - set.pieces_of(region).data()));
        out.gaussians += piece.count;
    }
    return out;
}

}  // namespace

LevelChoice coarsest_levels(const LevelSet& set) { return at_level(set, set.levels - 1); }

LevelChoice choose_levels(const LevelSet& set, const Camera& camera, const LevelWish& wish) {
    if (wish.level < 0) return Buyer(set, camera, wish).buy();
    std::size_t level = std::min(static_cast<std::size_t>(wish.level), set.levels - 1);
    while (level + 1 < set.levels && static_cast<double>(set.gaussians(level)) > wish.most) ++level;
    LevelChoice out = at_level(set, level);
    out.over_budget = static_cast<double>(out.gaussians) > wish.budget;
    return out;
}

bool nearly_same_view(const LevelSet& set, const Camera& a, const Camera& b) {
    if (a.model != b.model || a.distortion != b.distortion ||
        std::abs(a.width - b.width) > kSmallShare * a.width ||
        std::abs(a.height - b.height) > kSmallShare * a.height ||
        std::abs(a.fx - b.fx) > kSmallShare * a.fx || std::abs(a.fy - b.fy) > kSmallShare * a.fy ||
        !(dot(a.forward(), b.forward()) > std::cos(kSmallTurn)))
        return false;
    const Vec3d eye = a.position();
    double nearest = std::numeric_limits<double>::infinity();
    for (const LevelRegion& region : set.regions)
        if (region.bounded) nearest = std::min(nearest, distance_to(region, eye));
    return length(b.position() - eye) < kSmallShare * nearest;
}

Camera camera_ahead(const Camera& before, const Camera& now, int moves) {
    const Mat3d turn = now.rotation * transpose(before.rotation);
    const Vec3d step = now.translation - turn * before.translation;
    Camera out = now;
    for (int i = 0; i < moves; ++i) {
        out.rotation = turn * out.rotation;
        out.translation = turn * out.translation + step;
    }
    return out;
}

}  // namespace gs
