#include "trainer/ranks/rank_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gs {
namespace {

/// A run without its arrays.
struct Shape {
    std::uint64_t rows = 0;
    int sh_degree = 0;
    bool antialiased = false;
    std::uint32_t present = 0;  ///< bit i: array i of each_row_array()
    std::uint32_t steps = 0, base = 0, batch = 1;
    int planes = 0;
    LearningRates highest{};
    Sky sky{};
};

Message shape_of(const RunArrays& run) {
    Shape shape{run.model.count,  run.model.sh_degree, run.model.antialiased, 0,
                run.adam.steps,   run.adam.base,       run.adam.batch,        run.adam.planes,
                run.adam.highest, run.model.sky};
    std::uint32_t bit = 1;
    each_row_array(
        [&](const RowArray&, const auto& values) {
            shape.present |= values.empty() ? 0 : bit;
            bit <<= 1;
        },
        run);
    MessageWriter out;
    out.put(shape);
    for (const std::vector<double>& pending : run.adam.pending) out.put_list(pending);
    return out.take();
}

/// Space for `rows` rows of what `shape` has; those beyond are unused.
RunArrays empty_run(const Shape& shape, std::size_t rows, std::size_t capacity) {
    RunArrays run;
    run.model.count = rows;
    run.model.capacity = capacity;
    run.model.sh_degree = shape.sh_degree;
    run.model.antialiased = shape.antialiased;
    run.model.sky = shape.sky;
    run.adam.steps = shape.steps;
    run.adam.base = shape.base;
    run.adam.batch = shape.batch;
    run.adam.planes = shape.planes;
    run.adam.highest = shape.highest;
    std::uint32_t bit = 1;
    each_row_array(
        [&](const RowArray& array, auto& values) {
            if ((shape.present & bit) != 0)
                values.resize_discard(array.columns(run.model.planes()) * capacity);
            bit <<= 1;
        },
        run);
    each_row_column(
        [&](const auto& column) {
            for (std::size_t row = rows / kBlock * kBlock; row < capacity; ++row)
                column[row] = column.unused;
        },
        run);
    return run;
}

/// Calls visit(the values) for each stretch of `values` that holds the blocks.
template <class Values, class Visit>
void each_stretch(const RowArray& array, const GaussianModel& model, Values& values,
                  RankBlocks blocks, Visit&& visit) {
    const std::size_t columns = array.columns(model.planes());
    const auto part = [&](std::size_t first, std::size_t count) {
        visit(std::span(values.data() + first, count));
    };
    if (array.layout == RowArray::moments)
        return part(blocks.first * columns * kBlock, blocks.count * columns * kBlock);
    for (std::size_t c = 0; c < columns; ++c)
        part(c * model.capacity + blocks.first * kBlock, blocks.count * kBlock);
}

template <class Values>
Message stretch_of(const RowArray& array, const GaussianModel& model, const Values& values,
                   RankBlocks blocks) {
    MessageWriter out;
    out.reserve(array.columns(model.planes()) * blocks.count * kBlock * sizeof(values[0]));
    each_stretch(array, model, values, blocks, [&](const auto& part) { out.put_all(part); });
    return out.take();
}
template <class Values>
void put_stretch(const Message& message, const RowArray& array, const GaussianModel& model,
                 Values& values, RankBlocks blocks) {
    MessageReader in(message);
    each_stretch(array, model, values, blocks, [&](const auto& part) { in.get_all(part); });
}

}  // namespace

RunArrays share_rows(Exchange& ranks, const RunArrays* whole) {
    const Message about = from_head(ranks, whole != nullptr ? shape_of(*whole) : Message());
    MessageReader in(about);
    const auto shape = in.get<Shape>();
    const auto all = static_cast<std::size_t>(shape.rows), blocks = (all + kBlock - 1) / kBlock;
    const RankBlocks own(blocks, ranks.rank(), ranks.size());
    const std::size_t rows = RankRows(all, ranks.rank(), ranks.size()).count;
    RunArrays part = empty_run(shape, rows, padded_capacity(rows));
    for (std::vector<double>& pending : part.adam.pending) pending = in.list<double>();
    // One array at a time: the head has all of them already.
    each_row_array(
        [&](const RowArray& array, auto& values, const auto& from) {
            if (values.empty()) return;
            std::vector<Message> send(static_cast<std::size_t>(ranks.size()));
            for (int rank = 0; whole != nullptr && rank < ranks.size(); ++rank)
                send[static_cast<std::size_t>(rank)] =
                    stretch_of(array, whole->model, from, RankBlocks(blocks, rank, ranks.size()));
            put_stretch(ranks.swap(std::move(send))[0], array, part.model, values,
                        RankBlocks(own.count, 0, 1));
        },
        part, whole != nullptr ? *whole : std::as_const(part));
    if (whole == nullptr) return part;
    part.model.set_about(whole->model);
    part.sky_moments = whole->sky_moments;
    part.identity.book = whole->identity.book;
    part.appearance = whole->appearance;
    return part;
}

RunArrays gather_rows(Exchange& ranks, const RunArrays& part, std::size_t capacity) {
    std::vector<std::uint64_t> sums = sums_over(ranks, {part.model.count});
    const auto all = static_cast<std::size_t>(sums[0]), blocks = (all + kBlock - 1) / kBlock;
    RunArrays whole;
    if (ranks.head()) {
        whole = rows_like(part, all, capacity);
        whole.identity.book = part.identity.book;
        whole.appearance = part.appearance;
        each_row_column(
            [&](const auto& column) {
                for (std::size_t row = blocks * kBlock; row < capacity; ++row)
                    column[row] = column.unused;
            },
            whole);
    }
    each_row_array(
        [&](const RowArray& array, const auto& from, auto& values) {
            if (from.empty()) return;
            const std::vector<Message> parts = at_head(
                ranks, stretch_of(array, part.model, from, RankBlocks(part.model.blocks(), 0, 1)));
            for (int rank = 0; ranks.head() && rank < ranks.size(); ++rank)
                put_stretch(parts[static_cast<std::size_t>(rank)], array, whole.model, values,
                            RankBlocks(blocks, rank, ranks.size()));
        },
        part, whole);
    return whole;
}

}  // namespace gs
