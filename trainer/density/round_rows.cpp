#include "trainer/density/round_rows.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "trainer/density/morton.h"
#include "trainer/density/row_arrays.h"

namespace gs {

RoundRows in_morton_order(const RoundRows& rows) {
    const std::vector<std::uint32_t> order = morton_order(rows.mean);
    RoundRows out;
    out.source.reserve(order.size());
    for (const std::uint32_t i : order) {
        out.add(rows.source[i], rows.origin[i], rows.mean[i], rows.tag[i]);
        if (!rows.share.empty()) out.share.push_back(rows.share[i]);
    }
    return out;
}

std::size_t grown_capacity(std::size_t capacity, std::size_t wanted, std::size_t limit) {
    return padded_capacity(std::max(wanted, std::min(limit, capacity + capacity / 2)));
}

std::size_t padded_capacity(std::size_t count) {
    return ((count + kBlock - 1) / kBlock | 1) * kBlock;
}

std::size_t reserve_rows(RunArrays& arrays, std::size_t wanted, std::size_t limit,
                         Buffer<float>* save_reserve) {
    const std::size_t before = arrays.model.capacity;
    if (wanted <= before) return wanted;
    const std::size_t capacity = grown_capacity(before, wanted, limit);
    try {
        Buffer<float> reserve(static_cast<std::size_t>(arrays.model.planes()) * capacity);
        grow_rows(arrays, capacity);
        if (save_reserve != nullptr) *save_reserve = std::move(reserve);
    } catch (const std::bad_alloc&) {
        return before;
    }
    return wanted;
}

void rearrange(RunArrays& arrays, const RoundRows& rows) {
    CHECK(settled(arrays) && rows.source.size() <= arrays.model.capacity);
    const std::size_t before = arrays.model.count, after = rows.source.size();
    Buffer<std::uint32_t> words(after);
    const auto move = [&](const RowArray& array, const auto& column) {
        using T = std::remove_cvref_t<decltype(column[0])>;
        static_assert(sizeof(T) == sizeof words[0]);
        T* scratch = reinterpret_cast<T*>(words.data());
        parallel_for(after, 4096, [&](std::size_t i) {
            if (array.round == RowArray::tags)
                scratch[i] = static_cast<T>(rows.tag[i]);
            else if (array.round == RowArray::fresh && !keeps_moments(rows.origin[i]))
                scratch[i] = 0;
            else
                scratch[i] = column[rows.source[i]];
        });
        parallel_for(after, 4096, [&](std::size_t i) { column[i] = scratch[i]; });
        for (std::size_t row = after; row < before || row % kBlock != 0; ++row)
            column[row] = column.unused;
    };
    each_row_array(
        [&](const RowArray& array, auto& values) {
            if (array.round == RowArray::unmoved || array.round == RowArray::cleared) return;
            for (std::size_t c = 0; c < array.columns(arrays.model.planes()); ++c)
                move(array, row_column(array, arrays, values, c));
        },
        arrays);
    arrays.model.count = after;
}

void clear_round(RunArrays& arrays) {
    each_row_array(
        [](const RowArray& array, auto& values) {
            if (array.round == RowArray::cleared) values.fill(0);
        },
        arrays);
}

}  // namespace gs
