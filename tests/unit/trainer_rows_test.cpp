// A run's rows between two steps: taken out and put back, added, locked; ids and when they were
// given.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/numbered_rows.h"
#include "trainer/density/run_edit.h"

namespace gs {
namespace {

using Rows = std::vector<std::uint32_t>;

/// A settled run after 7 steps in which every number differs.
RunArrays numbered_arrays(std::size_t count) {
    TrainingSettings settings;
    settings.filter_3d = true;
    RunArrays arrays = new_run(GaussianModel(count, 1, padded_capacity(count)), settings);
    arrays.adam.base = arrays.adam.steps = 7;
    arrays.adam.last_step.fill(7);
    test::number_rows(arrays);
    return arrays;
}
float moment(const RunArrays& arrays, std::size_t row, std::size_t plane) {
    const std::size_t planes = static_cast<std::size_t>(arrays.model.planes()) * 2;
    return arrays.adam.moments[(row / kBlock * planes + plane) * kBlock + row % kBlock];
}

TEST(TrainerRows, WhatIsTakenComesBackWithAllItsBits) {
    for (const std::size_t count : {2u, 17u, 40u, 48u})
        for (const std::uint32_t every : {1u, 2u, 3u, 16u}) {
            SCOPED_TRACE(fmt::format("{} rows, every {}", count, every));
            const RunArrays before = numbered_arrays(count);
            RunArrays arrays = before;
            Rows rows;  // the last one stays
            for (std::uint32_t row = 0; row + 1 < count; row += every) rows.push_back(row);
            const TakenRows taken = take_rows(arrays, rows);
            ASSERT_TRUE(consistent(arrays));
            EXPECT_EQ(arrays.model.count, count - rows.size());
            test::each_column(
                [&](const RowArray&, std::size_t, const auto& now, const auto& out,
                    const auto& was) {
                    for (std::size_t row = 0, gone = 0; row < count; ++row) {
                        const bool goes = gone < rows.size() && rows[gone] == row;
                        EXPECT_EQ(goes ? out[gone] : now[row - gone], was[row]) << row;
                        gone += goes;
                    }
                    for (std::size_t row = arrays.model.count; row < arrays.model.capacity; ++row)
                        EXPECT_EQ(now[row], now.unused) << row;
                },
                arrays, taken.arrays, before);
            put_back(arrays, taken);
            EXPECT_TRUE(test::same_arrays(arrays, before));
        }
}

TEST(TrainerRows, WhereRowsAreMissingTheyComeBackBehindTheLast) {
    const RunArrays before = numbered_arrays(20);
    RunArrays arrays = before;
    const TakenRows late = take_rows(arrays, Rows{3, 17, 19});
    Rows most(15);
    std::iota(most.begin(), most.end(), 1u);
    (void)take_rows(arrays, most);
    ASSERT_EQ(arrays.model.count, 2u);
    put_back(arrays, late);
    ASSERT_EQ(arrays.model.count, 5u);
    EXPECT_EQ((Rows(arrays.identity.tags.begin(), arrays.identity.tags.begin() + 5)),
              (Rows{0, 18, 3, 17, 19}));
    test::each_column(
        [&](const RowArray&, std::size_t, const auto& now, const auto& was) {
            for (std::size_t row = 0; row < 5; ++row)
                EXPECT_EQ(now[row], was[arrays.identity.tags[row]]);
        },
        arrays, before);
}

TEST(TrainerRows, AddedOnesAreNewAndGrowTheStorage) {
    const RunArrays before = numbered_arrays(40);
    RunArrays arrays = before;
    GaussianModel more(30, 1);
    for (std::size_t i = 0; i < 30; ++i) more.at(kSh0, i) = static_cast<float>(i) - 100;
    append_rows(arrays, more);
    ASSERT_TRUE(consistent(arrays));
    EXPECT_EQ(arrays.model.count, 70u);
    EXPECT_GT(arrays.model.capacity, before.model.capacity);
    test::each_column(
        [](const RowArray&, std::size_t, const auto& now, const auto& was) {
            for (std::size_t row = 0; row < 40; ++row) EXPECT_EQ(now[row], was[row]);
        },
        arrays, before);
    for (std::size_t row = 40; row < 70; ++row) {
        EXPECT_EQ(arrays.model.at(kSh0, row), static_cast<float>(row) - 140);
        EXPECT_EQ(moment(arrays, row, 9), 0.0f);
        EXPECT_EQ(arrays.adam.last_step[row], 7u);
        EXPECT_EQ(arrays.identity.tags[row], row);
        EXPECT_EQ(arrays.identity.book.birth_step(static_cast<std::uint32_t>(row)), 7u);
    }
    EXPECT_EQ(arrays.identity.book.birth_step(39), 0u);
    EXPECT_TRUE(arrays.identity.plausible(70, 7));
}

TEST(TrainerRows, LockingForgetsMomentsAndKeepsTheId) {
    RunArrays arrays = numbered_arrays(40);
    lock_rows(arrays, Rows{16, 31}, true);
    EXPECT_EQ(locked_lanes(arrays.identity.tags, 0), 0u);
    EXPECT_EQ(locked_lanes(arrays.identity.tags, 1), 0x8001u);
    EXPECT_EQ(id_of_tag(arrays.identity.tags[31]), 31u);
    for (std::size_t m = 0; m < 46; ++m) {
        ASSERT_EQ(moment(arrays, 16, m), 0.0f);
        ASSERT_NE(moment(arrays, 17, m), 0.0f);
    }
    EXPECT_TRUE(arrays.identity.plausible(40, 7));
    lock_rows(arrays, Rows{16}, false);
    EXPECT_EQ(locked_lanes(arrays.identity.tags, 1), 0x8000u);
}

TEST(TrainerRows, IdsEndWithTheLastOne) {
    IdBook book;
    EXPECT_EQ(book.give(5, 0), 0u);
    EXPECT_EQ(book.give(0, 3), 5u);
    EXPECT_EQ(book.give(2, 3), 5u);
    EXPECT_EQ(book.give(1, 3), 7u);
    EXPECT_EQ(book.births, (std::vector<Birth>{{0, 0}, {5, 3}}));
    EXPECT_EQ(book.birth_step(4), 0u);
    EXPECT_EQ(book.birth_step(7), 3u);
    book.next = kLastId - 2;
    const std::uint32_t first = book.give(5, 9);
    EXPECT_EQ(later_id(first, 1), kLastId - 1);
    EXPECT_EQ(later_id(first, 4), kLastId);
    EXPECT_EQ(book.next, kLastId);
    EXPECT_EQ(book.give(3, 10), kLastId);
    EXPECT_EQ(book.birth_step(kLastId), 9u);
}

TEST(TrainerRows, WhatCannotBeIsNotBelieved) {
    const RowIdentity good = numbered_arrays(20).identity;
    EXPECT_TRUE(good.plausible(20, 0));
    const auto lies = [&](const auto& change) {
        RowIdentity bad = good;
        change(bad);
        return !bad.plausible(20, 100);
    };
    EXPECT_TRUE(lies([](RowIdentity& i) { i.tags[3] = 20; })) << "never given";
    EXPECT_TRUE(lies([](RowIdentity& i) { i.tags[3] = 4; })) << "given twice";
    EXPECT_TRUE(lies([](RowIdentity& i) { i.tags[3] = kLastId; })) << "not reached";
    EXPECT_TRUE(lies([](RowIdentity& i) { i.book.next = 0x80000000u; }));
    EXPECT_TRUE(lies([](RowIdentity& i) { i.book.births = {{1, 0}}; })) << "the first are missing";
    EXPECT_TRUE(lies([](RowIdentity& i) { i.book.births.push_back({10, 101}); })) << "the future";
    EXPECT_TRUE(lies([](RowIdentity& i) { i.book.births.push_back({0, 5}); }));
    EXPECT_TRUE(lies([](RowIdentity& i) { i.book.births.push_back({10, 0}); }));
    EXPECT_FALSE(lies([](RowIdentity& i) { i.book.births.push_back({10, 5}); }));
    EXPECT_FALSE(lies([](RowIdentity& i) { i.tags[3] |= kLockedTag; }));
}

}  // namespace
}  // namespace gs
