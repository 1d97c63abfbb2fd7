#include "renderer/raster/cpu/shared_frame.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.h"

namespace gs::cpu {
namespace {

/// The part of a slot's tiles in some rows of tiles.
struct Cut {
    std::uint32_t first_span = 0;  ///< in its chunk's list
    std::uint16_t y0 = 0, rows = 0;
    std::uint32_t isects = 0;
    bool continued = false;  ///< it has tiles in rows before
};
/// How it travels, beside its Splat and its spans.
struct SentCoverage {
    std::uint16_t y0, rows;
    std::uint32_t continued;
};

std::uint32_t tiles_of(const TileSpan* spans, std::size_t rows) {
    std::uint32_t tiles = 0;
    for (std::size_t row = 0; row < rows; ++row)
        tiles += static_cast<std::uint32_t>(spans[row].x1 - spans[row].x0);
    return tiles;
}

/// Of slot `i` of a chunk, in rows [begin, end).
Cut cut_to_rows(const CpuState& state, std::size_t chunk, std::size_t i, std::uint32_t begin,
                std::uint32_t end) {
    const Coverage& all = state.coverage[chunk * kSlotsPerChunk + i];
    const std::uint32_t from = std::max<std::uint32_t>(all.y0, begin),
                        to = std::min<std::uint32_t>(all.y0 + all.rows, end);
    Cut out;
    if (from >= to) return out;
    const TileSpan* const spans = state.spans[chunk].data() + all.first;
    out.first_span = all.first + (from - all.y0);
    out.y0 = static_cast<std::uint16_t>(from);
    out.rows = static_cast<std::uint16_t>(to - from);
    out.isects = tiles_of(spans + (from - all.y0), out.rows);
    out.continued = tiles_of(spans, from - all.y0) > 0;
    return out;
}

/// Calls f(i, cut) for the slots of a chunk that have tiles in rows [begin, end).
template <class F>
void for_each_cut(const CpuState& state, std::size_t chunk, std::uint32_t begin, std::uint32_t end,
                  F&& f) {
    for (std::size_t i = 0; i < state.chunk_slots[chunk]; ++i)
        if (const Cut cut = cut_to_rows(state, chunk, i, begin, end); cut.isects > 0) f(i, cut);
}

/// (Gaussian, tile) pairs in each row of tiles.
std::vector<std::uint64_t> pairs_of_rows(const CpuState& state) {
    std::vector<std::uint64_t> out(static_cast<std::size_t>(state.tiles_y), 0);
    for (std::size_t chunk = 0; chunk < state.chunks(); ++chunk)
        for (std::size_t i = 0; i < state.chunk_slots[chunk]; ++i) {
            const Coverage& coverage = state.coverage[chunk * kSlotsPerChunk + i];
            const TileSpan* const spans = state.spans[chunk].data() + coverage.first;
            for (std::size_t row = 0; row < coverage.rows; ++row)
                out[coverage.y0 + row] += tiles_of(spans + row, 1);
        }
    return out;
}

/// Rows for each rank, so that all have as much to draw. That a tile's pixels cost as much as 16
/// pairs is a guess; only the balance depends on it.
std::vector<std::uint32_t> rows_by_work(std::vector<std::uint64_t> pairs, int tiles_x,
                                        std::size_t ranks) {
    constexpr std::uint64_t kTile = 16;
    for (std::uint64_t& of_row : pairs) of_row += kTile * static_cast<std::uint64_t>(tiles_x);
    const std::uint64_t all = std::accumulate(pairs.begin(), pairs.end(), std::uint64_t{0});
    std::vector<std::uint32_t> first(ranks + 1, static_cast<std::uint32_t>(pairs.size()));
    first[0] = 0;
    std::uint64_t before = 0;
    std::size_t rank = 1;
    for (std::size_t row = 0; row < pairs.size(); ++row) {
        // A row belongs to the rank in whose share its middle lies.
        const std::uint64_t middle = before + pairs[row] / 2;
        for (; rank < ranks && middle >= all / ranks * rank; ++rank)
            first[rank] = static_cast<std::uint32_t>(row);
        before += pairs[row];
    }
    return first;
}

/// What `state` has in rows [begin, end): the numbers of splats and spans, all splats, all
/// coverages, all spans.
Message splats_for(const CpuState& state, std::uint32_t begin, std::uint32_t end) {
    struct Counts {
        std::uint64_t slots = 0, spans = 0;
    };
    std::vector<Counts> before(state.chunks() + 1);
    parallel_for(state.chunks(), 1, [&](std::size_t chunk) {
        for_each_cut(state, chunk, begin, end, [&](std::size_t, const Cut& cut) {
            ++before[chunk + 1].slots;
            before[chunk + 1].spans += cut.rows;
        });
    });
    for (std::size_t chunk = 0; chunk < state.chunks(); ++chunk) {
        before[chunk + 1].slots += before[chunk].slots;
        before[chunk + 1].spans += before[chunk].spans;
    }
    const Counts all = before.back();
    Message out(sizeof all + all.slots * (sizeof(Splat) + sizeof(SentCoverage)) +
                all.spans * sizeof(TileSpan));
    std::memcpy(out.data(), &all, sizeof all);
    std::byte* const splats = out.data() + sizeof all;
    std::byte* const coverages = splats + all.slots * sizeof(Splat);
    std::byte* const spans = coverages + all.slots * sizeof(SentCoverage);
    parallel_for(state.chunks(), 1, [&](std::size_t chunk) {
        auto [slot, span] = before[chunk];
        for_each_cut(state, chunk, begin, end, [&](std::size_t i, const Cut& cut) {
            const SentCoverage sent{cut.y0, cut.rows, cut.continued};
            std::memcpy(splats + slot * sizeof(Splat), &state.splats[chunk * kSlotsPerChunk + i],
                        sizeof(Splat));
            std::memcpy(coverages + slot * sizeof sent, &sent, sizeof sent);
            std::memcpy(spans + span * sizeof(TileSpan), state.spans[chunk].data() + cut.first_span,
                        cut.rows * sizeof(TileSpan));
            ++slot;
            span += cut.rows;
        });
    });
    return out;
}

/// A message of splats_for(), as it lies there.
struct Arrived {
    std::uint64_t slots, spans;
    std::span<const std::byte> splats, coverages, rows;

    explicit Arrived(const Message& message) {
        MessageReader in(message);
        slots = in.get<std::uint64_t>();
        spans = in.get<std::uint64_t>();
        splats = in.next(slots * sizeof(Splat));
        coverages = in.next(slots * sizeof(SentCoverage));
        rows = in.next(spans * sizeof(TileSpan));
    }
    SentCoverage coverage(std::size_t i) const {
        SentCoverage out;
        std::memcpy(&out, coverages.data() + i * sizeof out, sizeof out);
        return out;
    }
};

/// Puts a slot's spans and coverage behind those of its chunk. Returns its isects.
std::uint32_t add_slot(CpuState& lists, std::size_t slot, const SentCoverage& sent,
                       const std::byte* rows) {
    const std::size_t chunk = slot / kSlotsPerChunk;
    std::vector<TileSpan>& spans = lists.spans[chunk];
    const std::size_t first = spans.size();
    spans.resize(first + sent.rows);
    std::memcpy(spans.data() + first, rows, sent.rows * sizeof(TileSpan));
    const std::uint32_t isects = tiles_of(spans.data() + first, sent.rows),
                        emission = lists.chunk_emission[chunk];
    lists.coverage[slot] = {static_cast<std::uint32_t>(first), sent.y0, sent.rows, isects,
                            emission};
    lists.chunk_emission[chunk] += isects;
    ++lists.chunk_slots[chunk];
    return isects;
}

/// Lists of the splats that came, in the order of ranks.
std::uint64_t list_arrivals(const std::vector<Message>& messages, SharedFrame& shared) {
    std::vector<Arrived> from(messages.begin(), messages.end());
    shared.first_slot.assign(1, 0);
    for (const Arrived& part : from)
        shared.first_slot.push_back(shared.first_slot.back() + part.slots);
    const std::size_t slots = shared.first_slot.back(),
                      chunks = (slots + kSlotsPerChunk - 1) / kSlotsPerChunk;
    CpuState& lists = shared.lists;
    lists.splats.resize_discard(slots);
    lists.coverage.resize_discard(slots);
    shared.continued.resize_discard(slots);
    lists.chunk_slots.resize_discard(chunks);
    lists.chunk_slots.fill(0);
    lists.chunk_emission.resize_discard(chunks);
    lists.chunk_emission.fill(0);
    if (lists.spans.size() < chunks) lists.spans.resize(chunks);
    for (std::vector<TileSpan>& spans : lists.spans) spans.clear();
    std::uint64_t isects = 0;
    for (std::size_t rank = 0; rank < from.size(); ++rank) {
        const Arrived& part = from[rank];
        const std::size_t first = shared.first_slot[rank];
        if (part.slots > 0)
            std::memcpy(&lists.splats[first], part.splats.data(), part.splats.size());
        const std::byte* rows = part.rows.data();
        for (std::size_t i = 0; i < part.slots; ++i) {
            const SentCoverage sent = part.coverage(i);
            isects += add_slot(lists, first + i, sent, rows);
            shared.continued[first + i] = sent.continued != 0;
            rows += sent.rows * sizeof(TileSpan);
        }
    }
    std::exclusive_scan(lists.chunk_emission.begin(), lists.chunk_emission.end(),
                        lists.chunk_emission.begin(), 0u);
    return isects;
}

/// Calls visit(span of the rank's part of it) for every plane and array of a picture.
template <class Visit>
void each_part(const SharedFrame& shared, int rank, const RenderOptions& options,
               RenderResult& result, Visit&& visit) {
    const PixelRows rows = shared.own_rows(rank, result.height);
    const auto width = static_cast<std::size_t>(result.width),
               pixels = width * static_cast<std::size_t>(result.height);
    const auto image = [&](ImageF& of, std::size_t planes) {
        for (std::size_t p = 0; p < planes; ++p)
            visit(
                std::span(of.values.data() + p * pixels + rows.first * width, rows.count * width));
    };
    image(result.color, 3);
    image(result.alpha, 1);
    if (options.depth) image(result.depth, 1);
    if (options.median_depth) image(result.median_depth, 1);
    if (options.counters)
        visit(result.contributors.span().subspan(rows.first * width, rows.count * width));
    const TileGroup tiles = shared.own_tiles(rank, result.tiles_x);
    visit(result.isects_per_tile.span().subspan(tiles.first, tiles.end - tiles.first));
    visit(result.pairs_per_tile.span().subspan(tiles.first, tiles.end - tiles.first));
}

void add(GradientSum& sum, const GradientSum& more) {
    for (int part = 0; part < 3; ++part) sum.parts[part] += more.parts[part];
}

/// Adds what a rank returned for the splats that it was sent to the sums of their slots.
void add_returned(CpuState& own, int rank, const Message& message) {
    const auto r = static_cast<std::size_t>(rank);
    const std::uint32_t begin = own.shared->first_row[r], end = own.shared->first_row[r + 1];
    std::vector<std::size_t> first(own.chunks() + 1, 0);
    parallel_for(own.chunks(), 1, [&](std::size_t chunk) {
        for_each_cut(own, chunk, begin, end, [&](std::size_t, const Cut& cut) {
            first[chunk + 1] += cut.continued ? cut.isects : 1;
        });
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    const auto gradients = MessageReader(message).next(first.back() * sizeof(GradientSum));
    parallel_for(own.chunks(), 1, [&](std::size_t chunk) {
        const std::byte* next = gradients.data() + first[chunk] * sizeof(GradientSum);
        const auto take = [&] {
            GradientSum out;
            std::memcpy(&out, next, sizeof out);
            next += sizeof out;
            return out;
        };
        for_each_cut(own, chunk, begin, end, [&](std::size_t i, const Cut& cut) {
            GradientSum& sum = own.groups.sums[chunk * kSlotsPerChunk + i];
            if (!cut.continued)
                sum = take();
            else
                for (std::uint32_t k = 0; k < cut.isects; ++k) add(sum, take());
        });
    });
}

}  // namespace

std::size_t SharedFrame::bytes() const {
    return lists.bytes() + continued.capacity_bytes() + next_gradient.capacity_bytes() +
           gradients.capacity_bytes() + pixels.color.values.capacity_bytes() +
           pixels.alpha.values.capacity_bytes() + pixels.depth.values.capacity_bytes();
}

TileGroup SharedFrame::own_tiles(int rank, int tiles_x) const {
    const auto columns = static_cast<std::uint32_t>(tiles_x);
    const auto r = static_cast<std::size_t>(rank);
    return {first_row[r] * columns, first_row[r + 1] * columns, 0};
}

PixelRows SharedFrame::own_rows(int rank, int height) const {
    const auto row = [&](int of) {
        return std::min<std::size_t>(
            static_cast<std::size_t>(height),
            first_row[static_cast<std::size_t>(of)] * std::size_t{kTileSize});
    };
    return {row(rank), row(rank + 1) - row(rank)};
}

std::uint64_t share_splats(Exchange& ranks, CpuState& own) {
    if (!own.shared) own.shared = std::make_unique<SharedFrame>();
    SharedFrame& shared = *own.shared;
    const auto size = static_cast<std::size_t>(ranks.size());
    shared.first_row = rows_by_work(sums_over(ranks, pairs_of_rows(own)), own.tiles_x, size);
    std::vector<Message> send;
    for (std::size_t rank = 0; rank < size; ++rank)
        send.push_back(splats_for(own, shared.first_row[rank], shared.first_row[rank + 1]));
    shared.lists.tiles_x = own.tiles_x;
    shared.lists.tiles_y = own.tiles_y;
    return list_arrivals(ranks.swap(std::move(send)), shared);
}

void share_counts(Exchange& ranks, RenderCounters& counters) {
    const auto sums = sums_over(ranks, {counters.gaussians, counters.candidates, counters.visible});
    counters.gaussians = sums[0];
    counters.candidates = sums[1];
    counters.visible = sums[2];
}

void join_picture(Exchange& ranks, const CpuState& own, const RenderOptions& options,
                  RenderResult& result) {
    const SharedFrame& shared = *own.shared;
    MessageWriter message;
    if (!ranks.head()) {
        each_part(shared, ranks.rank(), options, result,
                  [&](const auto& part) { message.put_all(part); });
        message.put(result.counters);
    }
    const std::vector<Message> parts = at_head(ranks, message.take());
    if (!ranks.head()) return;
    for (int rank = 1; rank < ranks.size(); ++rank) {
        MessageReader in(parts[static_cast<std::size_t>(rank)]);
        each_part(shared, rank, options, result, [&](const auto& part) { in.get_all(part); });
        const auto of_rank = in.get<RenderCounters>();
        RenderCounters& sum = result.counters;
        sum.isects += of_rank.isects;
        sum.list_pairs += of_rank.list_pairs;
        sum.evaluated_pairs += of_rank.evaluated_pairs;
        sum.blended_pairs += of_rank.blended_pairs;
        sum.longest_tile = std::max(sum.longest_tile, of_rank.longest_tile);
    }
}

const PixelGradients& share_pixel_gradients(Exchange& ranks, CpuState& own, int width, int height,
                                            const PixelGradients& of_head) {
    SharedFrame& shared = *own.shared;
    const auto columns = static_cast<std::size_t>(width),
               pixels = columns * static_cast<std::size_t>(height);
    const auto each_plane = [&](int rank, auto&& visit, auto& gradients) {
        const PixelRows rows = shared.own_rows(rank, height);
        for (auto* image : {&gradients.color, &gradients.alpha, &gradients.depth}) {
            const std::size_t planes = image->values.size() / pixels;
            visit(*image, planes, rows.first * columns, rows.count * columns);
        }
    };
    std::vector<Message> send(static_cast<std::size_t>(ranks.size()));
    for (int rank = 1; ranks.head() && rank < ranks.size(); ++rank) {
        MessageWriter message;
        each_plane(
            rank,
            [&](const ImageF& image, std::size_t planes, std::size_t first, std::size_t count) {
                message.put(static_cast<std::uint64_t>(planes));
                for (std::size_t p = 0; p < planes; ++p)
                    message.put_all(std::span(image.values.data() + p * pixels + first, count));
            },
            of_head);
        send[static_cast<std::size_t>(rank)] = message.take();
    }
    const std::vector<Message> came = ranks.swap(std::move(send));
    if (ranks.head()) return of_head;
    MessageReader in(came[0]);
    each_plane(
        ranks.rank(),
        [&](ImageF& image, std::size_t, std::size_t first, std::size_t count) {
            const auto planes = static_cast<std::size_t>(in.get<std::uint64_t>());
            image = planes == 0 ? ImageF() : std::move(image);
            if (planes > 0) image.resize(width, height, static_cast<int>(planes));
            for (std::size_t p = 0; p < planes; ++p)
                in.get_all(std::span(image.values.data() + p * pixels + first, count));
        },
        shared.pixels);
    return shared.pixels;
}

void begin_gradients(SharedFrame& shared) {
    const CpuState& lists = shared.lists;
    const Buffer<Coverage>& all = lists.groups.several ? lists.groups.coverage : lists.coverage;
    shared.next_gradient.resize_discard(shared.first_slot.back());
    shared.first_gradient.assign(1, 0);
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank + 1 < shared.first_slot.size(); ++rank) {
        for (std::size_t slot = shared.first_slot[rank]; slot < shared.first_slot[rank + 1];
             ++slot) {
            shared.next_gradient[slot] = sum;
            sum += shared.continued[slot] != 0 ? all[slot].isects : 1u;
        }
        shared.first_gradient.push_back(sum);
    }
    shared.gradients.resize_discard(sum);
    shared.gradients.fill({});
}

void keep_gradients(SharedFrame& shared) {
    const CpuState& lists = shared.lists;
    parallel_for(shared.first_slot.back(), 1024, [&](std::size_t slot) {
        std::uint64_t& next = shared.next_gradient[slot];
        if (shared.continued[slot] == 0)
            return add_gradients(lists, static_cast<std::uint32_t>(slot), shared.gradients[next]);
        const Coverage& coverage = lists.coverage[slot];
        const std::uint32_t first = lists.chunk_emission[slot / kSlotsPerChunk] + coverage.emission;
        for (std::uint32_t e = first; e < first + coverage.isects; ++e, ++next)
            std::memcpy(&shared.gradients[next], &lists.isect_gradients[e], sizeof(GradientSum));
    });
}

void return_gradients(Exchange& ranks, CpuState& own) {
    const SharedFrame& shared = *own.shared;
    std::vector<Message> send;
    for (std::size_t rank = 0; rank + 1 < shared.first_gradient.size(); ++rank) {
        const std::uint64_t first = shared.first_gradient[rank];
        send.push_back(message_of(
            shared.gradients.span().subspan(first, shared.first_gradient[rank + 1] - first)));
    }
    const std::vector<Message> came = ranks.swap(std::move(send));
    own.groups.sums.resize_discard(own.splats.size());
    own.groups.sums.fill({});
    for (int rank = 0; rank < ranks.size(); ++rank)
        add_returned(own, rank, came[static_cast<std::size_t>(rank)]);
}

}  // namespace gs::cpu
