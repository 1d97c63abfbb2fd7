// The ground floor: mailboxes, files, random numbers, buffers, parallel loops and the sort.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "base/buffer.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/sort.h"
#include "base/spill.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using Folder = test::TemporaryFolder;

TEST(Latest, NewestWinsAndIsTakenOnce) {
    Latest<int> box;
    EXPECT_FALSE(box.take());
    box.put(1);
    box.put(2);
    EXPECT_EQ(box.take(), 2);
    EXPECT_FALSE(box.take());
}

TEST(Queue, KeepsOrderAndEveryItemAcrossThreads) {
    Queue<int> queue(8);
    constexpr int kItems = 5000;
    std::thread producer([&] {
        for (int i = 0; i < kItems; ++i) ASSERT_TRUE(queue.put(i));
        queue.close();
    });
    int expected = 0;
    while (const auto item = queue.take_within(std::chrono::milliseconds(5000)))
        EXPECT_EQ(*item, expected++);
    producer.join();
    EXPECT_EQ(expected, kItems);
}

TEST(Queue, RefusesWhenFullOrClosedInsteadOfBlocking) {
    Queue<int> queue(1);
    EXPECT_TRUE(queue.try_put(1));
    EXPECT_FALSE(queue.try_put(2));
    queue.close();
    EXPECT_EQ(queue.try_take(), 1);
    EXPECT_FALSE(queue.put(3));
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
    const Folder folder;
    const fs::path path = folder.path() / "out.bin";
    {
        auto file = AtomicFile::create(path);
        ASSERT_TRUE(file);
        ASSERT_TRUE(file->append("half"));
        EXPECT_FALSE(fs::exists(path));
    }
    EXPECT_TRUE(fs::is_empty(folder.path())) << "an abandoned temporary file was left behind";
    ASSERT_TRUE(write_text_file(path, "first"));
    ASSERT_TRUE(write_text_file(path, "second"));
    EXPECT_EQ(read_text_file(path).value(), "second");
}

TEST(AtomicFile, NeverReplacesADeviceOrAPipe) {
    const Folder folder;
    const fs::path pipe = folder.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const fs::path& path : {pipe, fs::path("/dev/null")}) {
        const auto written = write_text_file(path, "x");
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().kind, ErrorKind::unwritable);
        EXPECT_FALSE(fs::is_regular_file(path));
    }
}

TEST(AtomicFile, ErrorsNameThePathAndTheReason) {
    const Folder folder;
    const auto missing = read_file(folder.path() / "nothing");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
    EXPECT_NE(missing.error().text().find("nothing"), std::string::npos);
    const auto written = write_text_file(folder.path() / "no" / "such" / "folder.txt", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::unwritable);
    EXPECT_NE(written.error().message.find("there is no such folder"), std::string::npos);
    EXPECT_EQ(read_file(folder.path()).error().kind, ErrorKind::unreadable);
    ASSERT_TRUE(write_text_file(folder.path() / "big", std::string(100, 'x')));
    EXPECT_EQ(read_file(folder.path() / "big", 99).error().kind, ErrorKind::unreadable);
}

TEST(MakeFolder, MakesWhatIsMissingOrSaysWhyNot) {
    const Folder folder;
    EXPECT_TRUE(make_folder(""));
    ASSERT_TRUE(make_folder(folder.path() / "a" / "b"));
    EXPECT_TRUE(make_folder(folder.path() / "a" / "b"));
    EXPECT_TRUE(fs::is_directory(folder.path() / "a" / "b"));
    ASSERT_TRUE(write_text_file(folder.path() / "taken", "x"));
    for (const fs::path& bad : {folder.path() / "taken", folder.path() / "taken" / "below"}) {
        const auto made = make_folder(bad, "choose another");
        ASSERT_FALSE(made) << bad;
        EXPECT_EQ(made.error().kind, ErrorKind::unwritable);
        EXPECT_EQ(made.error().path, bad.string());
        EXPECT_NE(made.error().message.find("Not a directory"), std::string::npos)
            << made.error().text();
        EXPECT_EQ(made.error().advice, "choose another");
    }
}

TEST(Log, BufferedLinesAreNumberedAndFound) {
    set_log_level(LogLevel::error);
    log_info("one {}", 1);
    const auto all = log_lines_after(0);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.back().text, "one 1");
    log_warning("two");
    const auto newer = log_lines_after(all.back().serial);
    ASSERT_EQ(newer.size(), 1u);
    EXPECT_EQ(newer[0].text, "two");
    EXPECT_TRUE(log_lines_after(newer[0].serial).empty());
    set_log_level(LogLevel::info);
}

TEST(Rng, UniformNumbersFillTheUnitIntervalEvenly) {
    constexpr int kBins = 16, kDraws = 64000;
    int bins[kBins] = {};
    for (int i = 0; i < kDraws; ++i) {
        const float u = random_uniform(7, 3, static_cast<std::uint64_t>(i));
        ASSERT_GE(u, 0.0f);
        ASSERT_LT(u, 1.0f);
        ++bins[static_cast<int>(u * kBins)];
    }
    double chi2 = 0;
    const double expected = static_cast<double>(kDraws) / kBins;
    for (const int n : bins) chi2 += (n - expected) * (n - expected) / expected;
    EXPECT_LT(chi2, 44.3) << "15 degrees of freedom, p = 1e-4";
}

TEST(Buffer, KeepsContentWhenGrowingAndStaysAligned) {
    Buffer<float> buffer;
    buffer.resize(10, 1.5f);
    buffer.resize(1000, 2.5f);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
    EXPECT_EQ(buffer[9], 1.5f);
    EXPECT_EQ(buffer[10], 2.5f);
    const float* const before = buffer.data();
    buffer.resize_discard(500);
    buffer.resize_discard(1000);
    EXPECT_EQ(buffer.data(), before)
        << "shrinking and growing within the high-water mark must not allocate";
    const Buffer<float> copy = buffer;
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), buffer.begin()));
}

TEST(ParallelFor, CoversEveryIndexOnceForAnyThreadCount) {
    for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        std::vector<std::atomic<int>> hits(1003);
        parallel_for(hits.size(), 7, [&](std::size_t i) { ++hits[i]; });
        EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](const auto& n) { return n == 1; }));
    }
    set_thread_count(0);
}

TEST(RadixSort, EqualsStableSort) {
    RadixSort sorter;
    for (const std::size_t n : {0u, 1u, 2u, 1000u, 50000u})
        for (const std::uint32_t range : {1u, 5u, 70000u, 0xFFFFFFFFu}) {
            Buffer<std::uint32_t> keys(n), values(n);
            std::vector<std::pair<std::uint32_t, std::uint32_t>> expected(n);
            for (std::size_t i = 0; i < n; ++i) {
                keys[i] = static_cast<std::uint32_t>(random_bits(1, n, i)) % range +
                          (range < 100 ? 1000000u : 0u);
                values[i] = static_cast<std::uint32_t>(i);
                expected[i] = {keys[i], values[i]};
            }
            std::stable_sort(expected.begin(), expected.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            sorter.sort(keys, values);
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_EQ(std::pair(keys[i], values[i]), expected[i])
                    << n << " keys below " << range;
        }
}

/// How often this process has something of `folder` in its memory.
std::size_t mappings_of(const fs::path& folder) {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find(folder.string()) != line.npos;
    return count;
}

TEST(Spill, LargeArraysLieInFilesWithoutANameOnceAFolderIsGiven) {
    const Folder folder;
    using Array = std::vector<std::uint32_t, SpillAllocator<std::uint32_t>>;
    const auto filled = [](Array& array, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) array.push_back(i);
        for (std::uint32_t i = 0; i < count; i += 997)
            if (array[i] != i) return false;
        return true;
    };
    Array before;
    EXPECT_TRUE(filled(before, 1'000'000));
    EXPECT_EQ(mappings_of(folder.path()), 0u);
    const auto given = spill_to(folder.path());
    if (!given) GTEST_SKIP() << given.error().text();
    {
        Array small, large;
        EXPECT_TRUE(filled(small, 1000) && filled(large, 1'000'000));
        EXPECT_EQ(mappings_of(folder.path()), 1u);
        EXPECT_TRUE(fs::is_empty(folder.path()));
        before = std::move(large);
        EXPECT_EQ(before.back(), 999'999u);
    }
    before = Array();
    EXPECT_EQ(mappings_of(folder.path()), 0u);
    EXPECT_EQ(spill_to("/proc").error().kind, ErrorKind::unwritable);
}

TEST(Spill, AFolderInMemoryIsRefused) {
    struct statfs system {};
    if (::statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC)
        GTEST_SKIP() << "/dev/shm is not in memory: this chroot or container has none mounted";
    const fs::path in_memory = fmt::format("/dev/shm/gausscope-base-{}", ::getpid());
    const auto refused = spill_to(in_memory);
    fs::remove(in_memory);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace gs
