// Selecting Gaussians and changing rows of a model, without a studio: shapes on the screen against
// a check of every centre, queries, neighbours of points on a line, and changes that are undone to
// the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "renderer/edit/neighbours.h"
#include "renderer/edit/questions.h"
#include "renderer/edit/row_change.h"
#include "tests/support/random_scene.h"
#include "tests/support/required.h"

namespace gs {
namespace {

using test::random_in;
using ::testing::ElementsAre;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

GaussianModel some_model(std::size_t count, int degree) {
    GaussianModel m(count, degree);
    for (std::size_t i = 0; i < count; ++i)
        for (int p = 0; p < m.planes(); ++p)
            m.at(p, i) = static_cast<float>(random_in(7, static_cast<std::uint64_t>(p), i, -1, 1));
    return m;
}
/// Centres at x = 0, 1, 2, ... and every deviation `size`.
GaussianModel line_of(std::size_t count, float size) {
    GaussianModel m(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        m.at(kMeans, i) = static_cast<float>(i);
        for (int c = 0; c < 3; ++c) m.at(kLogScales + c, i) = std::log(size);
    }
    return m;
}
std::vector<std::uint32_t> hit_rows(const Hits& hits) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < hits.size(); ++i)
        if (hits[i] != 0) out.push_back(static_cast<std::uint32_t>(i));
    return out;
}
bool same_bits(const GaussianModel& a, const GaussianModel& b) {
    if (a.count != b.count || a.planes() != b.planes()) return false;
    for (int p = 0; p < a.planes(); ++p)
        if (std::memcmp(a.plane(p), b.plane(p), a.count * sizeof(float)) != 0) return false;
    return true;
}
std::size_t pixels_of(const ScreenMask& mask) {
    std::size_t sum = 0;
    for (const std::uint8_t pixel : mask.pixels) sum += pixel;
    return sum;
}

TEST(ScreenMasks, cover_the_pixels_of_their_shapes) {
    const ScreenMask rectangle = rectangle_mask(20, 10, {12.5, 7.2}, {3.9, 2.0});
    for (int y = 0; y < 10; ++y)
        for (int x = 0; x < 20; ++x)
            EXPECT_EQ(rectangle.at(x, y), x >= 3 && x <= 12 && y >= 2 && y <= 7) << x << ' ' << y;
    EXPECT_EQ(pixels_of(rectangle_mask(20, 10, {-50, -50}, {-1, -1})), 0u);
    EXPECT_EQ(pixels_of(rectangle_mask(20, 10, {-50, -50}, {500, 500})), 200u);

    // A square with a square hole, by the even-odd rule; the line between them has no area.
    const ScreenPoint corners[] = {{2, 2}, {12, 2}, {12, 9}, {2, 9}, {2, 2},
                                   {4, 4}, {8, 4},  {8, 7},  {4, 7}, {4, 4}};
    EXPECT_EQ(pixels_of(polygon_mask(20, 10, corners)), 10u * 7 - 4 * 3);
    EXPECT_EQ(pixels_of(polygon_mask(20, 10, std::span(corners).first(2))), 0u);
    const ScreenPoint wide[] = {{-1e5, -1e5}, {1e5, -1e5}, {1e5, 1e5}, {-1e5, 1e5}};
    EXPECT_EQ(pixels_of(polygon_mask(20, 10, wide)), 200u);

    const ScreenPoint path[] = {{5, 5}, {15, 5}};
    const ScreenMask brush = brush_mask(20, 10, path, 2);
    for (int y = 0; y < 10; ++y)
        for (int x = 0; x < 20; ++x) {
            const double dx = std::max({5 - (x + 0.5), (x + 0.5) - 15, 0.0}), dy = y + 0.5 - 5;
            EXPECT_EQ(brush.at(x, y), dx * dx + dy * dy <= 4) << x << ' ' << y;
        }
    EXPECT_EQ(pixels_of(brush_mask(20, 10, std::span(path).first(1), 0)), 1u);
}

TEST(Questions, see_through_the_lens) {
    // A panorama shows what lies behind it, at its distance.
    Camera around{.model = CameraModel::equirectangular,
                  .width = 64,
                  .height = 32,
                  .fx = 64 / 6.283185307179586,
                  .fy = 32 / 3.141592653589793,
                  .cx = 32,
                  .cy = 16};
    GaussianModel m = some_model(2, 0);
    for (std::size_t i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k) m.at(kMeans + k, i) = 0.1f;
    m.at(kMeans + 2, 0) = -5;  // behind, near the right edge
    m.at(kMeans + 2, 1) = 5;
    const Hits hits = rows_on_screen(m, {around, 0.1}, rectangle_mask(64, 32, {60, 10}, {64, 20}));
    EXPECT_TRUE(hits[0] && !hits[1]);
    EXPECT_NEAR(own_value(m, 0, OwnValue::depth, around), std::sqrt(25.02), 1e-5);
    around.model = CameraModel::pinhole;
    EXPECT_NEAR(own_value(m, 0, OwnValue::depth, around), -5, 1e-6);
}
TEST(Questions, find_the_centres_on_the_screen_that_can_be_seen) {
    Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 64, 48, 0.9);
    GaussianModel m = some_model(500, 0);
    m.at(kMeans, 3) = kNaN;
    m.at(kMeans + 2, 4) = -9;  // behind the camera
    Sight sight{camera, 0.1};
    const ScreenMask mask = rectangle_mask(64, 48, {10, 10}, {40, 30});
    const Hits hits = rows_on_screen(m, sight, mask);
    std::size_t count = 0;
    for (std::size_t i = 0; i < m.count; ++i) {
        const Vec3d at =
            camera.rotation * Vec3d{m.at(kMeans, i), m.at(kMeans + 1, i), m.at(kMeans + 2, i)} +
            camera.translation;
        const double x = camera.fx * at.x / at.z + camera.cx,
                     y = camera.fy * at.y / at.z + camera.cy;
        const bool inside = at.z > 0.1 && x >= 10 && x < 41 && y >= 10 && y < 31;
        EXPECT_EQ(hits[i] != 0, inside) << i;
        count += inside;
    }
    EXPECT_GT(count, 50u);
    EXPECT_FALSE(hits[3] || hits[4]);
    // A clip box, a near plane and a surface leave out more, each what it should.
    sight.clip = ClipBox{{-1, -1, -1}, {0, 1, 1}};
    sight.near_plane = 4;
    ImageF surface(32, 24, 1);
    for (float& depth : surface.values) depth = 4.5f;
    surface.at(0, 5, 5) = kNaN;  // a hole: what is behind is seen
    sight.surface = &surface;
    for (int c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < m.count; ++i) m.at(kLogScales + c, i) = -4;
    const ScreenMask whole = rectangle_mask(64, 48, {0, 0}, {64, 48});
    for (const std::uint32_t i : hit_rows(rows_on_screen(m, sight, whole))) {
        const float z = m.at(kMeans + 2, i) + 4;
        EXPECT_LE(m.at(kMeans, i), 0);
        EXPECT_GT(z, 4);
        const double x = camera.fx * static_cast<double>(m.at(kMeans, i) / z) + camera.cx;
        const double y = camera.fy * static_cast<double>(m.at(kMeans + 1, i) / z) + camera.cy;
        const bool hole = static_cast<int>(x / 2) == 5 && static_cast<int>(y / 2) == 5;
        EXPECT_TRUE(hole || z <= 4.5f + std::exp(-4.0f) + 1e-5f) << i;
    }
}

TEST(Questions, find_what_lies_in_volumes_and_has_values) {
    GaussianModel m = line_of(10, 0.1f);
    EXPECT_THAT(hit_rows(rows_in_sphere(m, {4, 0, 0}, 1)), ElementsAre(3, 4, 5));
    EXPECT_THAT(hit_rows(rows_in_box(m, {{6.5f, -1, -1}, {8, 0, 0}})), ElementsAre(7, 8));
    m.at(kMeans, 7) = kNaN;
    EXPECT_THAT(hit_rows(rows_in_box(m, {{6.5f, -1, -1}, {8, 0, 0}})), ElementsAre(8));
    const Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 64, 48, 0.9);
    m.at(kOpacityLogits, 2) = std::log(3.0f);  // 0.75
    EXPECT_THAT(hit_rows(rows_by_value(m, OwnValue::opacity, 0.7, 0.8, camera)), ElementsAre(2));
    m.at(kLogScales + 1, 5) = std::log(0.4f);
    EXPECT_THAT(hit_rows(rows_by_value(m, OwnValue::size, 0.39, 0.41, camera)), ElementsAre(5));
    EXPECT_THAT(hit_rows(rows_by_value(m, OwnValue::anisotropy, 3.9, 4.1, camera)), ElementsAre(5));
    m.at(kMeans + 2, 6) = 2;
    EXPECT_THAT(hit_rows(rows_by_value(m, OwnValue::depth, 5.9, 6.1, camera)), ElementsAre(6));
    m.at(kSh0, 1) = 1;
    EXPECT_THAT(hit_rows(rows_by_color(m, {0.782f, 0.5f, 0.5f}, 0.01f)), ElementsAre(1));
    Flags flags(10, 0);
    flags[1] = flags[7] = flags[8] = kSelected;
    Vec3f lo, hi;
    ASSERT_TRUE(bounds_of_selection(m, flags, lo, hi));
    EXPECT_FLOAT_EQ(lo.x, 1);
    EXPECT_FLOAT_EQ(hi.x, 8);
}

TEST(SelectionFlags, modes_and_hidden_rows) {
    const Flags flags{kSelected, 0, kHidden, kSelected | kLocked};
    const Hits hits{0, 1, 1, 1};
    EXPECT_THAT(with_selection(flags, hits, SelectMode::replace),
                ElementsAre(0, kSelected, kHidden, kSelected | kLocked));
    EXPECT_THAT(with_selection(flags, hits, SelectMode::add),
                ElementsAre(kSelected, kSelected, kHidden, kSelected | kLocked));
    EXPECT_THAT(with_selection(flags, hits, SelectMode::remove),
                ElementsAre(kSelected, 0, kHidden, kLocked));
    EXPECT_THAT(rows_with(flags, kSelected, kLocked), ElementsAre(0u));
    EXPECT_THAT(with_bits(flags, kSelected, kHidden, kSelected),
                ElementsAre(kHidden, 0, kHidden, kHidden | kLocked));
    EXPECT_EQ(count_flags(flags).selected, 2u);
}

TEST(NeighboursOf, grow_shrink_and_follow_a_chain) {
    GaussianModel m = line_of(20, 0.5f);
    for (std::size_t i = 12; i < 20; ++i) m.at(kMeans, i) += 5;  // a gap
    m.at(kMeans + 1, 19) = kNaN;
    const Neighbours neighbours(m);
    Flags flags(20, 0);
    flags[5] = kSelected;
    EXPECT_THAT(hit_rows(neighbours.grown(flags, 2.1)), ElementsAre(4, 5, 6));
    EXPECT_THAT(hit_rows(neighbours.grown(flags, 1.9)), ElementsAre(5));
    const auto all = required(neighbours.connected(flags, 2.1, {}));
    EXPECT_THAT(hit_rows(all), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    for (std::size_t i = 4; i < 9; ++i) flags[i] = kSelected;
    EXPECT_THAT(hit_rows(neighbours.shrunk(flags, 2.1)), ElementsAre(5, 6, 7));
    flags[7] = kHidden;  // nothing passes through what is hidden
    flags[8] = 0;
    EXPECT_THAT(hit_rows(*neighbours.connected(flags, 2.1, {})), ElementsAre(0, 1, 2, 3, 4, 5, 6));
    EXPECT_FALSE(neighbours.connected(flags, 2.1, [](auto, auto, auto) { return false; }));
}

TEST(RowChanges, are_made_and_taken_back_to_the_bit) {
    for (const int degree : {0, 3}) {
        const GaussianModel before = some_model(100, degree);
        Flags flags(100, 0);
        flags[3] = flags[4] = kSelected;
        flags[99] = kLocked;
        const Flags flags_before = flags;
        GaussianModel m = before;

        RowChange removal = RowChange::removal({0, 3, 4, 50, 99});
        removal.toggle(m, flags);
        EXPECT_EQ(m.count, 95u);
        EXPECT_EQ(count_flags(flags).selected, 0u);
        for (int p = 0; p < m.planes(); ++p) {
            EXPECT_EQ(m.at(p, 0), before.at(p, 1));
            EXPECT_EQ(m.at(p, 2), before.at(p, 5));
            EXPECT_EQ(m.at(p, 94), before.at(p, 98));
        }
        removal.toggle(m, flags);
        EXPECT_TRUE(same_bits(m, before));
        EXPECT_EQ(flags, flags_before);

        const std::vector<std::uint32_t> rows{3, 4};
        RowChange addition = RowChange::addition(m.count, gathered(m, rows), kSelected);
        addition.toggle(m, flags);
        ASSERT_EQ(m.count, 102u);
        EXPECT_EQ(m.at(kSh0, 101), before.at(kSh0, 4));
        EXPECT_EQ(count_flags(flags).selected, 4u);
        addition.toggle(m, flags);
        EXPECT_TRUE(same_bits(m, before));

        GaussianModel moved = gathered(m, rows);
        for (std::size_t k = 0; k < 2; ++k) moved.at(kMeans + 1, k) = 42;
        RowChange values = RowChange::values(rows, moved, kMeans, 3);
        values.toggle(m, flags);
        EXPECT_EQ(m.at(kMeans + 1, 4), 42);
        EXPECT_EQ(m.at(kMeans + 1, 5), before.at(kMeans + 1, 5));
        EXPECT_GE(values.bytes(), 2u * 3 * 4);
        values.toggle(m, flags);
        EXPECT_TRUE(same_bits(m, before));
        // All rows may go, and come back.
        RowChange everything = RowChange::removal(rows_with(flags, 0));
        everything.toggle(m, flags);
        EXPECT_EQ(m.count, 0u);
        everything.toggle(m, flags);
        EXPECT_TRUE(same_bits(m, before));
    }
    const FlagChange change({1, 0, 2, 3}, {1, 4, 0, 3});
    EXPECT_EQ(change.count(), 2u);
    Flags f{1, 0, 2, 3};
    change.toggle(f);
    EXPECT_THAT(f, ElementsAre(1, 4, 0, 3));
    change.toggle(f);
    EXPECT_THAT(f, ElementsAre(1, 0, 2, 3));
}

TEST(RowChanges, find_their_rows_again_by_ids) {
    const std::vector<std::uint32_t> ids{10, 11, 12, 13, 14}, later{14, 20, 12, 11, 21};
    EXPECT_THAT(rows_of_ids(std::vector<std::uint32_t>{11, 13, 14}, later),
                ElementsAre(3u, kNoSuchRow, 0u));
    GaussianModel m = some_model(5, 0);
    Flags flags(5, 0);
    GaussianModel moved = gathered(m, std::vector<std::uint32_t>{1, 3, 4});
    const float of_11 = m.at(kMeans, 1), of_14 = m.at(kMeans, 4);
    for (std::size_t k = 0; k < 3; ++k) moved.at(kMeans, k) = 100 + static_cast<float>(k);
    RowChange change = RowChange::values({1, 3, 4}, moved, kMeans, 3);
    change.name_rows(ids);
    change.toggle(m, flags);
    EXPECT_EQ(m.at(kMeans, 4), 102);
    // Rows 14 and 11 have moved to the ends, 13 is gone: the others get theirs back.
    GaussianModel other = some_model(5, 0);
    const float untouched = other.at(kMeans, 1);
    change.find_rows(later);
    EXPECT_THAT(change.rows(), ElementsAre(0, 3));
    change.toggle(other, flags);
    EXPECT_EQ(other.at(kMeans, 0), of_14);
    EXPECT_EQ(other.at(kMeans, 3), of_11);
    EXPECT_EQ(other.at(kMeans, 1), untouched);
    FlagChange flips(Flags{0, 0, 0, 0, 0}, Flags{0, kSelected, 0, kSelected, 0});
    flips.name_rows(ids);
    flips.find_rows(later);
    flips.toggle(flags);
    EXPECT_THAT(flags, ElementsAre(0, 0, 0, kSelected, 0));
    RowChange removal = RowChange::removal({1});
    EXPECT_FALSE(removal.named());
    removal.name_rows(ids);
    removal.find_rows(std::vector<std::uint32_t>{10, 20});
    EXPECT_TRUE(removal.rows().empty());
    EXPECT_TRUE(removal.named()) << "though none of them is left";
}

}  // namespace
}  // namespace gs
