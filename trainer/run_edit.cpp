#include "trainer/run_edit.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/scene/crop.h"

namespace gs {
namespace {

/// One number a row, wherever it lies: a plane of the model, of the moments, of the statistics.
struct Column {
    float* data;
    std::size_t stride;  ///< floats from a block of 16 rows to the next
    float padding;       ///< of rows that are not in use
    float& operator[](std::size_t row) const { return data[row / kBlock * stride + row % kBlock]; }
};

std::size_t moment_planes(const RunArrays& arrays) {
    return 2 * static_cast<std::size_t>(arrays.model.planes());
}

/// All of them: planes of the model, then of the moments, then the statistics, then the filter.
std::vector<Column> columns_of(RunArrays& arrays) {
    const GaussianModel padding(0, arrays.model.sh_degree, kBlock);
    std::vector<Column> out;
    for (int p = 0; p < arrays.model.planes(); ++p)
        out.push_back({arrays.model.plane(p), kBlock, padding.at(p, 0)});
    const std::size_t moments = moment_planes(arrays);
    for (std::size_t m = 0; m < moments; ++m)
        out.push_back({arrays.adam.moments.data() + m * kBlock, moments * kBlock, 0.0f});
    DensityStatistics& s = arrays.statistics;
    for (Buffer<float>* buffer : {&s.gradient_sum, &s.views, &s.radius_px})
        out.push_back({buffer->data(), kBlock, 0.0f});
    if (!arrays.filter.empty()) out.push_back({arrays.filter.data(), kBlock, 0.0f});
    return out;
}

/// The same numbers of rows that were taken.
float* taken_column(TakenRows& taken, std::size_t column, std::size_t& step) {
    const auto planes = static_cast<std::size_t>(taken.model.planes());
    step = 1;
    if (column < planes) return taken.model.plane(static_cast<int>(column));
    step = 2 * planes;
    if (column < 3 * planes) return taken.moments.data() + (column - planes);
    if (column == 3 * planes + 3) {
        step = 1;
        return taken.filter.data();
    }
    step = 3;
    return taken.statistics.data() + (column - 3 * planes);
}

/// Space for `rows` rows; all or nothing.
void make_room(RunArrays& arrays, std::size_t rows) {
    if (rows <= arrays.model.capacity) return;
    const std::size_t capacity = padded_capacity(rows);
    GaussianModel model = arrays.model.resized(capacity, arrays.model.sh_degree);
    Buffer<float> moments = arrays.adam.moments;
    moments.resize(capacity * moment_planes(arrays), 0.0f);
    Buffer<std::uint32_t> last_step = arrays.adam.last_step, tags = arrays.identity.tags;
    last_step.resize(capacity, arrays.adam.steps);
    tags.resize(capacity, 0u);
    DensityStatistics statistics = arrays.statistics;
    for (Buffer<float>* buffer :
         {&statistics.gradient_sum, &statistics.views, &statistics.radius_px})
        buffer->resize(capacity, 0.0f);
    Buffer<float> filter = arrays.filter;
    if (!filter.empty()) filter.resize(capacity, 0.0f);
    arrays.filter = std::move(filter);
    arrays.model = std::move(model);
    arrays.adam.moments = std::move(moments);
    arrays.adam.last_step = std::move(last_step);
    arrays.statistics = std::move(statistics);
    arrays.identity.tags = std::move(tags);
}

bool settled(const RunArrays& arrays) { return arrays.adam.steps == arrays.adam.base; }

}  // namespace

std::vector<std::uint32_t> rows_to_crop(const GaussianModel& model, const RowIdentity& identity,
                                        const ClipBox& box) {
    std::vector<std::uint32_t> rows = rows_outside(model, box);
    std::erase_if(rows, [&](std::uint32_t row) { return locked_tag(identity.tags[row]); });
    return rows;
}

bool consistent(const RunArrays& arrays) {
    const auto& [model, adam, statistics, identity, appearance, filter] = arrays;
    const std::size_t capacity = model.capacity;
    return model.count > 0 && model.count <= capacity && capacity % kBlock == 0 &&
           model.values.size() == static_cast<std::size_t>(model.planes()) * capacity &&
           adam.moments.size() == moment_planes(arrays) * capacity &&
           adam.last_step.size() == capacity && statistics.gradient_sum.size() == capacity &&
           statistics.views.size() == capacity && statistics.radius_px.size() == capacity &&
           identity.tags.size() == capacity && (filter.empty() || filter.size() == capacity) &&
           appearance.moments.size() == 2 * appearance.values.size();
}

TakenRows take_rows(RunArrays& arrays, std::span<const std::uint32_t> rows) {
    const std::size_t before = arrays.model.count, after = before - rows.size();
    CHECK(settled(arrays) && rows.size() < before, "{} of {} rows", rows.size(), before);
    for (std::size_t i = 0; i < rows.size(); ++i)
        CHECK(rows[i] < before && (i == 0 || rows[i] > rows[i - 1]), "row {}", rows[i]);
    TakenRows taken;
    taken.rows.assign(rows.begin(), rows.end());
    taken.model = GaussianModel(rows.size(), arrays.model.sh_degree);
    taken.model.antialiased = arrays.model.antialiased;
    taken.moments.resize(rows.size() * moment_planes(arrays));
    taken.statistics.resize(rows.size() * 3);
    if (!arrays.filter.empty()) taken.filter.resize(rows.size());
    const std::vector<Column> columns = columns_of(arrays);
    parallel_for(columns.size(), 1, [&](std::size_t c) {
        const Column& column = columns[c];
        std::size_t step = 0, gap = 0;
        float* out = taken_column(taken, c, step);
        for (std::size_t row = 0; row < before; ++row) {
            if (gap < rows.size() && row == rows[gap])
                out[step * gap++] = column[row];
            else
                column[row - gap] = column[row];
        }
        for (std::size_t row = after; row < before; ++row) column[row] = column.padding;
    });
    Buffer<std::uint32_t>& tags = arrays.identity.tags;
    for (std::size_t row = 0; row < before; ++row) {
        const std::size_t gap = taken.tags.size();
        if (gap < rows.size() && row == rows[gap])
            taken.tags.push_back(tags[row]);
        else
            tags[row - gap] = tags[row];
    }
    std::fill(tags.begin() + after, tags.begin() + before, 0u);
    arrays.model.count = after;
    return taken;
}

void put_back(RunArrays& arrays, const TakenRows& taken) {
    CHECK(settled(arrays) && taken.model.sh_degree == arrays.model.sh_degree);
    const std::size_t before = arrays.model.count, more = taken.rows.size(), after = before + more;
    make_room(arrays, after);
    // Row by row from the end, so that nothing is written over that is still to be moved. Where
    // rows are missing in between, those taken from beyond the end follow one another.
    const auto place = [&](std::size_t i) {
        return std::min<std::size_t>(taken.rows[i], before + i);
    };
    const std::vector<Column> columns = columns_of(arrays);
    parallel_for(columns.size(), 1, [&](std::size_t c) {
        const Column& column = columns[c];
        std::size_t step = 0, left = more;
        const float* from = taken_column(const_cast<TakenRows&>(taken), c, step);
        for (std::size_t row = after; left > 0 && row-- > 0;) {
            if (row == place(left - 1))
                column[row] = from[step * --left];
            else
                column[row] = column[row - left];
        }
    });
    Buffer<std::uint32_t>& tags = arrays.identity.tags;
    for (std::size_t row = after, left = more; left > 0 && row-- > 0;) {
        if (row == place(left - 1))
            tags[row] = taken.tags[--left];
        else
            tags[row] = tags[row - left];
    }
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
    const std::size_t moments = moment_planes(arrays);
    for (const std::uint32_t row : rows) {
        CHECK(row < arrays.model.count, "row {}", row);
        std::uint32_t& tag = arrays.identity.tags[row];
        tag = locked ? tag | kLockedTag : id_of_tag(tag);
        if (!locked) continue;
        float* of = arrays.adam.moments.data() + row / kBlock * moments * kBlock + row % kBlock;
        for (std::size_t m = 0; m < moments; ++m) of[m * kBlock] = 0.0f;
    }
}

}  // namespace gs
