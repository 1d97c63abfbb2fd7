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
    std::uint64_t seed = 0;
    LearningRates highest{};
    Sky sky{};
};

Message shape_of(const RunArrays& run) {
    Shape shape{run.model.count, run.model.sh_degree, run.model.antialiased, 0,
                run.adam.steps,  run.adam.base,       run.adam.batch,        run.adam.planes,
                run.adam.seed,   run.adam.highest,    run.model.sky};
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
    run.adam.seed = shape.seed;
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
    if (array.by_block())
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

void array_at_head(Exchange& ranks, const RunArrays& part, std::size_t number, std::size_t capacity,
                   const RunPieces::Take& take) {
    const std::size_t blocks = among(ranks, part.model.blocks()).all;
    visit_row_array(number, part, [&](const RowArray& array, const auto& values) {
        using T = std::remove_cvref_t<decltype(values[0])>;
        constexpr std::size_t kMost = kMostBytes / sizeof(T);
        if (values.empty()) return;
        const std::size_t columns = array.columns(part.model.planes());
        for (std::size_t c = 0; c < (array.by_block() ? 1 : columns); ++c) {
            const auto column = row_column(array, part, values, c);
            for (int rank = 0; rank < ranks.size(); ++rank) {
                const std::size_t there =
                    RankBlocks(blocks, rank, ranks.size()).count * column.stride;
                for (std::size_t at = 0; at < there; at += kMost) {
                    Message piece;
                    if (rank == ranks.rank())
                        piece =
                            message_of(std::span(column.first + at, std::min(kMost, there - at)));
                    const std::vector<Message> came = at_head(ranks, std::move(piece), true);
                    if (ranks.head()) take(came[static_cast<std::size_t>(rank)].span());
                }
            }
            if (!ranks.head()) continue;
            std::size_t left = (capacity / kBlock - blocks) * column.stride;
            const std::vector<T> unused(std::min(kMost, left), column.unused);
            for (; left > 0; left -= std::min(kMost, left))
                take(std::as_bytes(std::span(unused).first(std::min(kMost, left))));
        }
    });
}

RunArrays gather_rows(Exchange& ranks, const RunArrays& part, std::size_t capacity) {
    const std::size_t all = among(ranks, part.model.count).all;
    RunArrays whole;
    if (ranks.head()) {
        whole = rows_like(part, all, capacity);
        whole.identity.book = part.identity.book;
        whole.appearance = part.appearance;
    }
    std::size_t number = 0;
    each_row_array(
        [&](const RowArray&, auto& values) {
            auto* to = reinterpret_cast<std::byte*>(values.data());
            array_at_head(ranks, part, number++, capacity, [&](std::span<const std::byte> piece) {
                to = std::copy(piece.begin(), piece.end(), to);
            });
        },
        whole);
    return whole;
}

}  // namespace gs
