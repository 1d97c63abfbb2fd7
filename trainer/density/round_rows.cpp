#include "trainer/density/round_rows.h"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "trainer/density/morton.h"
#include "trainer/density/row_arrays.h"

namespace gs {
namespace {

/// What rows are sorted by, and which of the own ones it is.
struct SortedRow {
    std::uint64_t code;
    std::uint32_t place, listed;
    bool operator<(const SortedRow& other) const {
        return std::tie(code, place) < std::tie(other.code, other.place);
    }
};

/// How many rows of all ranks come before each own one. Both lists of a pair of ranks are sorted;
/// they travel from rank to rank, so that nobody has more than one of another's.
std::vector<std::uint32_t> places_of(const std::vector<SortedRow>& own, Exchange& ranks) {
    std::vector<std::uint32_t> places(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) places[i] = static_cast<std::uint32_t>(i);
    for (int step = 1; step < ranks.size(); ++step) {
        const int to = (ranks.rank() + step) % ranks.size(),
                  from = (ranks.rank() + ranks.size() - step) % ranks.size();
        std::vector<Message> send(static_cast<std::size_t>(ranks.size()));
        send[static_cast<std::size_t>(to)] = message_of(std::span(own));
        const Message message =
            std::move(ranks.swap(std::move(send))[static_cast<std::size_t>(from)]);
        std::vector<SortedRow> others(message.size() / sizeof(SortedRow));
        MessageReader(message).get_all(std::span(others));
        std::uint32_t before = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
            while (before < others.size() && others[before] < own[i]) ++before;
            places[i] += before;
        }
    }
    return places;
}

/// Sends what belongs to listed rows to the ranks that get them.
class RowMove {
  public:
    /// `rows`: by place.
    RowMove(const RoundRows& rows, Exchange& ranks) : ranks_(ranks) {
        const std::size_t all = among(ranks, rows.size()).all;
        own_ = RankRows(all, ranks.rank(), ranks.size()).count;
        std::vector<Message> rows_there;
        for (int rank = 0; rank < ranks.size(); ++rank) {
            const RankRows next(all, rank, ranks.size());
            const auto begin = rows.place.begin() + static_cast<std::ptrdiff_t>(begins_.back()),
                       end = std::lower_bound(begin, rows.place.end(), next.first + next.count);
            begins_.push_back(static_cast<std::size_t>(end - rows.place.begin()));
            std::vector<std::uint32_t> there(begin, end);
            for (std::uint32_t& row : there) row -= static_cast<std::uint32_t>(next.first);
            rows_there.push_back(message_of(std::span(there)));
        }
        rows_here_ = ranks.swap(std::move(rows_there));
    }
    /// Rows that this rank gets.
    std::size_t own() const { return own_; }
    /// `from(i)`: a T of listed row i; `to(row, T)`: for each row that is here next. From many
    /// threads; nothing is written before all is read.
    template <class T, class From, class To>
    void carry(From&& from, To&& to) const {
        std::vector<Message> send(begins_.size() - 1);
        for (std::size_t rank = 0; rank < send.size(); ++rank) {
            const std::size_t begin = begins_[rank], count = begins_[rank + 1] - begin;
            send[rank].resize_discard(count * sizeof(T));
            T* const values = reinterpret_cast<T*>(send[rank].data());
            parallel_for(count, 4096, [&](std::size_t i) { values[i] = from(begin + i); });
        }
        const std::vector<Message> came = ranks_.swap(std::move(send));
        for (std::size_t rank = 0; rank < came.size(); ++rank) {
            const auto* const rows =
                reinterpret_cast<const std::uint32_t*>(rows_here_[rank].data());
            const std::size_t count = rows_here_[rank].size() / sizeof(std::uint32_t);
            const auto* const values = reinterpret_cast<const T*>(
                MessageReader(came[rank]).next(count * sizeof(T)).data());
            parallel_for(count, 4096, [&](std::size_t i) { to(rows[i], values[i]); });
        }
    }
    template <class T>
    void carry(const std::vector<T>& listed, std::vector<T>& here) const {
        here.resize(own_);
        carry<T>([&](std::size_t i) { return listed[i]; },
                 [&](std::size_t row, T value) { here[row] = value; });
    }

  private:
    Exchange& ranks_;
    std::size_t own_ = 0;
    std::vector<std::size_t> begins_{0};  ///< [rank] the first listed row that goes there; the end
    std::vector<Message> rows_here_;      ///< [rank] uint32_t: what those from there are here
};

}  // namespace

RankBlocks::RankBlocks(std::size_t blocks, int rank, int ranks) {
    const auto r = static_cast<std::size_t>(rank), n = static_cast<std::size_t>(ranks);
    first = blocks * r / n;
    count = blocks * (r + 1) / n - first;
}

RankRows::RankRows(std::size_t all, int rank, int ranks) {
    const RankBlocks blocks((all + kBlock - 1) / kBlock, rank, ranks);
    first = blocks.first * kBlock;
    count = std::min(all, first + blocks.count * kBlock) - first;
}

RoundRows in_morton_order(const RoundRows& rows, Exchange& ranks) {
    const std::vector<std::uint64_t> codes = morton_codes(rows.mean, ranks);
    std::vector<SortedRow> sorted(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i)
        sorted[i] = {codes[i], rows.place[i], static_cast<std::uint32_t>(i)};
    std::sort(sorted.begin(), sorted.end());
    const std::vector<std::uint32_t> places = places_of(sorted, ranks);
    RoundRows out;
    out.source.reserve(sorted.size());
    for (std::size_t k = 0; k < sorted.size(); ++k) {
        const std::uint32_t i = sorted[k].listed;
        out.add(rows.source[i], rows.origin[i], rows.mean[i], rows.tag[i], places[k],
                rows.share[i]);
    }
    return out;
}

std::size_t grown_capacity(std::size_t capacity, std::size_t wanted, std::size_t limit) {
    return padded_capacity(std::max(wanted, std::min(limit, capacity + capacity / 2)));
}

std::size_t padded_capacity(std::size_t count) {
    return ((count + kBlock - 1) / kBlock | 1) * kBlock;
}

std::size_t reserve_rows(RunArrays& arrays, std::size_t wanted, std::size_t limit, Exchange& ranks,
                         Buffer<float>* save_reserve) {
    const std::size_t before = arrays.model.capacity, size = static_cast<std::size_t>(ranks.size()),
                      own = RankRows(wanted, ranks.rank(), ranks.size()).count;
    bool fits = own <= before;
    if (!fits) {
        const std::size_t capacity = grown_capacity(before, own, (limit + size - 1) / size);
        try {
            Buffer<float> reserve(static_cast<std::size_t>(arrays.model.planes()) * capacity);
            grow_rows(arrays, capacity);
            if (save_reserve != nullptr) *save_reserve = std::move(reserve);
            fits = true;
        } catch (const std::bad_alloc&) {
        }
    }
    if (sums_over(ranks, {fits ? 0u : 1u})[0] == 0) return wanted;
    std::size_t least = arrays.model.capacity;
    for (const std::size_t of : of_each(ranks, least)) least = std::min(least, of);
    return least * size;
}

RoundRows rearrange(RunArrays& arrays, const RoundRows& rows, Exchange& ranks, MovedArrays which) {
    CHECK(settled(arrays));
    const RowMove moved(rows, ranks);
    const std::size_t before = arrays.model.count, after = moved.own();
    // With less memory than wanted, a rank may still get a block more than it had.
    if (after > arrays.model.capacity) grow_rows(arrays, padded_capacity(after));
    RoundRows here;
    moved.carry(rows.origin, here.origin);
    moved.carry(rows.mean, here.mean);
    moved.carry(rows.share, here.share);
    const auto move = [&](const RowArray& array, const auto& column) {
        using T = std::remove_cvref_t<decltype(column[0])>;
        moved.carry<T>(
            [&](std::size_t i) {
                if (array.round == RowArray::tags) return static_cast<T>(rows.tag[i]);
                if (array.round == RowArray::fresh && !keeps_moments(rows.origin[i])) return T{0};
                return column[rows.source[i]];
            },
            [&](std::size_t row, T value) { column[row] = value; });
        for (std::size_t row = after; row < before || row % kBlock != 0; ++row)
            column[row] = column.unused;
    };
    each_row_array(
        [&](const RowArray& array, auto& values) {
            const bool stays = array.round == RowArray::unmoved || array.round == RowArray::cleared;
            if (values.empty() || (stays && which == MovedArrays::of_round)) return;
            for (std::size_t c = 0; c < array.columns(arrays.model.planes()); ++c)
                move(array, row_column(array, arrays, values, c));
        },
        arrays);
    arrays.model.count = after;
    return here;
}

void clear_round(RunArrays& arrays) {
    each_row_array(
        [](const RowArray& array, auto& values) {
            if (array.round == RowArray::cleared) values.fill(0);
        },
        arrays);
}

}  // namespace gs
