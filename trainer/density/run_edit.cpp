#include "trainer/density/run_edit.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/scene/crop.h"
#include "trainer/density/round_rows.h"

namespace gs {
namespace {

/// Space for `rows` rows; all or nothing.
void make_room(RunArrays& arrays, std::size_t rows) {
    if (rows > arrays.model.capacity) grow_rows(arrays, padded_capacity(rows));
}

}  // namespace

std::vector<std::uint32_t> rows_to_crop(const GaussianModel& model, const RowIdentity& identity,
                                        const ClipBox& box) {
    std::vector<std::uint32_t> rows = rows_outside(model, box);
    std::erase_if(rows, [&](std::uint32_t row) { return locked_tag(identity.tags[row]); });
    return rows;
}

std::vector<std::uint32_t> rows_to_reduce(const RowIdentity& identity,
                                          std::span<const double> weights, std::size_t keep) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < weights.size(); ++row)
        if (!locked_tag(identity.tags[row])) rows.push_back(row);
    const std::size_t excess =
        std::min(rows.size(), weights.size() - std::min(keep, weights.size()));
    const auto weight = [&](std::uint32_t row) { return weights[row] > 0 ? weights[row] : 0.0; };
    std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(excess), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                         return weight(a) != weight(b) ? weight(a) < weight(b) : a > b;
                     });
    rows.resize(excess);
    std::sort(rows.begin(), rows.end());
    return rows;
}

TakenRows take_rows(RunArrays& arrays, std::span<const std::uint32_t> rows) {
    const std::size_t before = arrays.model.count, after = before - rows.size();
    CHECK(settled(arrays) && rows.size() < before, "{} of {} rows", rows.size(), before);
    for (std::size_t i = 0; i < rows.size(); ++i)
        CHECK(rows[i] < before && (i == 0 || rows[i] > rows[i - 1]), "row {}", rows[i]);
    TakenRows taken{{rows.begin(), rows.end()}, {}};
    taken.arrays = rows_like(arrays, rows.size(), (rows.size() / kBlock + 1) * kBlock);
    each_row_column(
        [&](const auto& column, const auto& out) {
            std::size_t gap = 0;
            for (std::size_t row = 0; row < before; ++row) {
                if (gap < rows.size() && row == rows[gap])
                    out[gap++] = column[row];
                else
                    column[row - gap] = column[row];
            }
            for (std::size_t row = after; row < before; ++row) column[row] = column.unused;
        },
        arrays, taken.arrays);
    arrays.model.count = after;
    return taken;
}

void remove_rows(RunArrays& arrays, std::span<const std::uint32_t> rows, Exchange& ranks) {
    const std::size_t count = arrays.model.count, all = among(ranks, count).all;
    std::vector<std::uint8_t> removed(ranks.head() ? all : 0);
    for (const std::uint32_t row : rows) {
        CHECK(row < removed.size() && rows.size() < all, "row {} of {}", row, all);
        removed[row] = 1;
    }
    removed = parted_from_head(ranks, removed, count);
    const auto kept = static_cast<std::size_t>(std::count(removed.begin(), removed.end(), 0));
    std::size_t place = among(ranks, kept).first;
    RoundRows left;
    for (std::size_t row = 0; row < count; ++row)
        if (removed[row] == 0)
            left.add(row, Origin::kept, arrays.model.mean(row), arrays.identity.tags[row], place++);
    (void)rearrange(arrays, left, ranks, MovedArrays::all);
}

void put_back(RunArrays& arrays, const TakenRows& taken) {
    CHECK(settled(arrays) && taken.arrays.model.sh_degree == arrays.model.sh_degree);
    const std::size_t before = arrays.model.count, more = taken.rows.size(), after = before + more;
    make_room(arrays, after);
    // Row by row from the end, so that nothing is written over that is still to be moved. Where
    // rows are missing in between, those taken from beyond the end follow one another.
    const auto place = [&](std::size_t i) {
        return std::min<std::size_t>(taken.rows[i], before + i);
    };
    each_row_column(
        [&](const auto& column, const auto& from) {
            for (std::size_t row = after, left = more; left > 0 && row-- > 0;)
                column[row] = row == place(left - 1) ? from[--left] : column[row - left];
        },
        arrays, taken.arrays);
    // Taken rows name the step of that time: they were settled then, as all are now.
    arrays.adam.last_step.fill(arrays.adam.steps);
    arrays.model.count = after;
}

void append_rows(RunArrays& arrays, const GaussianModel& more) {
    CHECK(settled(arrays) && more.sh_degree == arrays.model.sh_degree);
    const std::size_t before = arrays.model.count;
    make_room(arrays, before + more.count);
    for (int p = 0; p < more.planes(); ++p)
        std::copy_n(more.plane(p), more.count, arrays.model.plane(p) + before);
    const std::uint32_t first = arrays.identity.book.give(more.count, arrays.adam.steps);
    for (std::size_t i = 0; i < more.count; ++i)
        arrays.identity.tags[before + i] = later_id(first, static_cast<std::uint32_t>(i));
    arrays.model.count = before + more.count;
}

void lock_rows(RunArrays& arrays, std::span<const std::uint32_t> rows, bool locked) {
    CHECK(settled(arrays));
    for (const std::uint32_t row : rows) {
        CHECK(row < arrays.model.count, "row {}", row);
        std::uint32_t& tag = arrays.identity.tags[row];
        tag = locked ? tag | kLockedTag : id_of_tag(tag);
        if (locked) each_moment_column([&](auto column, int) { column[row] = {}; }, arrays);
    }
}

}  // namespace gs
