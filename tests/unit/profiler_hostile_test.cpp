// A ring is memory that another program writes. Whatever is in it, the reader returns: no crash, no
// hang, no unbounded memory. Everything the reader yields also goes through the store, which must
// stay in order.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/record/activity_lane.h"
#include "base/record/device_lane.h"
#include "base/record/scope.h"
#include "base/record/service_status.h"
#include "base/rng.h"
#include "profiler/collect/reader.h"
#include "profiler/store/store.h"
#include "profiler/store/symbol.h"
#include "tests/support/required.h"

namespace gs {
namespace {

/// A private, writable copy of this process's ring, sealed as a real one.
class RingCopy {
  public:
    explicit RingCopy(bool sealed = true) {
        start_recording();
        write_spans();
        write_activities();
        bytes_ = abi::kHardCap;
        fd_ = ::memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        EXPECT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes_)), 0);
        if (sealed) {
            EXPECT_EQ(::fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        }
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
        // The used front is all that matters; the rest of the pages stays untouched.
        std::vector<std::byte> front(2u << 20);
        EXPECT_EQ(::pread(ring_fd(), front.data(), front.size(), 0),
                  static_cast<ssize_t>(front.size()));
        std::memcpy(memory_, front.data(), front.size());
        for (std::size_t i = 0; i < header().lanes_used; ++i) {
            const std::size_t at = lane(i).records_offset, most = 64u << 10;
            if (at != 0) {
                EXPECT_EQ(::pread(ring_fd(), memory_ + at, most, static_cast<off_t>(at)),
                          static_cast<ssize_t>(most));
            }
        }
    }
    ~RingCopy() {
        ::munmap(memory_, bytes_);
        ::close(fd_);
    }
    RingCopy(const RingCopy&) = delete;
    RingCopy& operator=(const RingCopy&) = delete;

    int fd() const { return fd_; }
    std::byte* memory() { return memory_; }
    abi::RingHeader& header() { return *reinterpret_cast<abi::RingHeader*>(memory_); }
    abi::Lane& lane(std::size_t i) {
        return reinterpret_cast<abi::Lane*>(memory_ + sizeof(abi::RingHeader))[i];
    }
    abi::Record& record(std::size_t lane_index, std::size_t i) {
        return reinterpret_cast<abi::Record*>(memory_ + lane(lane_index).records_offset)[i];
    }
    /// The first lane of a GPU stream.
    std::size_t device_lane() {
        std::size_t i = 0;
        while (lane(i).kind != static_cast<std::uint32_t>(abi::LaneKind::device)) ++i;
        return i;
    }
    abi::DeviceRecord& device_record(std::size_t i) {
        return reinterpret_cast<abi::DeviceRecord*>(memory_ +
                                                    lane(device_lane()).records_offset)[i];
    }

    /// The lane of CUPTI's records.
    std::size_t activity_lane() {
        std::size_t i = 0;
        while (lane(i).kind != static_cast<std::uint32_t>(abi::LaneKind::activity)) ++i;
        return i;
    }
    abi::ActivityRecord& activity(std::size_t i) {
        return reinterpret_cast<abi::ActivityRecord*>(memory_ +
                                                      lane(activity_lane()).records_offset)[i];
    }
    static constexpr std::size_t kActivities = 320;

  private:
    /// 300 ranges and the work they launched; written once, so that the hundredth copy reads no
    /// more than the first.
    static void write_spans() {
        static DeviceLane stream("CUDA stream test");
        static bool written = false;
        if (std::exchange(written, true)) return;
        for (std::uint64_t i = 0; i < 300; ++i) {
            const Span span(Stage::blend, i);
            const std::uint64_t now = read_ticks();
            stream.write({now, now, i, i, string_of(Stage::blend), 0, true, launch_point()});
        }
        record_counter(register_string("count"), 1);
    }
    /// Every kind of record, as from CUPTI's writer; written once, they stay in the lane.
    static void write_activities() {
        static ActivityLane lane;
        if (lane.written() != 0) return;
        abi::GpuDevice device{};
        device.name = register_string("GPU");
        device.multiprocessors = 132;
        write_gpu_device(0, device);
        set_cupti_clock([] { return clock_ns(CLOCK_REALTIME); });
        publish_clock_snapshot();
        const std::uint64_t now = clock_ns(CLOCK_REALTIME);
        const StringId kernel = register_string("_ZN2at6native6kernelIfEEvT_");
        for (std::size_t i = 0; i < kActivities; ++i) {
            abi::ActivityRecord r{};
            r.kind = static_cast<std::uint8_t>(i % 8 + 1);
            r.begin = now + i * 1000;
            r.end = r.begin + 900;
            r.correlation = static_cast<std::uint32_t>(i / 8 + 1);
            r.name = kernel;
            r.stream = 7;
            lane.write(r);
        }
    }

    int fd_ = -1;
    std::size_t bytes_ = 0;
    std::byte* memory_ = nullptr;
};

void expect_in_order(const TraceStore& store) {
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows) {
            std::int64_t end = std::numeric_limits<std::int64_t>::min();
            for (const TraceSpan& span : row.view()) {
                ASSERT_LE(end, span.begin_ns);
                ASSERT_LE(span.begin_ns, span.end_ns);
                end = span.end_ns;
            }
        }
}

void read_everything(RingCopy& ring) {
    auto reader = TraceReader::attach(ring.fd());
    if (!reader) {
        EXPECT_FALSE(reader.error().message.empty());
        return;
    }
    TraceStore store;
    for (int i = 0; i < 2; ++i) {
        TraceBatch batch;
        reader->drain(batch);
        EXPECT_LE(batch.spans.size(), abi::kHardCap / sizeof(abi::Record) * abi::kLaneCount);
        store.ingest(batch);
    }
    expect_in_order(store);
    store.frames().statistics(StatScope::call);
    store.frames().gpu_statistics(StatScope::call);
    EXPECT_LE(store.tracks().size(), 65536u);
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (std::size_t r = 0; r < store.tracks()[t].rows.size(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view()) {
                store.timeline().launching_span(t, r, span);
                range_of(store, t, r, span);
            }
}

bool is_stage(const GpuWorkEvent& work) { return work.kind == GpuWorkKind::stage; }

TEST(Hostile, AnUntouchedCopyReadsWell) {
    RingCopy ring;
    auto reader = required(TraceReader::attach(ring.fd()));
    TraceBatch batch;
    reader.drain(batch);
    EXPECT_GE(batch.spans.size(), 300u);
    EXPECT_GE(std::erase_if(batch.gpu_work, is_stage), 300u);
    EXPECT_EQ(batch.loss.malformed, 0u);
}

/// Gives every record and string entry eight more bytes, as a later minor version may.
void lengthen(RingCopy& ring) {
    abi::RingHeader& h = ring.header();
    std::vector<std::byte> arena;
    std::byte* const from = ring.memory() + h.arena_offset;
    for (std::uint64_t at = 0; at < h.arena_published;) {
        abi::StringEntry entry;
        std::memcpy(&entry, from + at, sizeof entry);
        const std::uint64_t text = (entry.bytes + 7) / 8 * 8;
        arena.insert(arena.end(), from + at, from + at + sizeof entry);
        arena.resize(arena.size() + 8);
        arena.insert(arena.end(), from + at + sizeof entry, from + at + sizeof entry + text);
        at += sizeof entry + text;
    }
    ASSERT_LT(arena.size(), h.arena_bytes);
    std::memcpy(from, arena.data(), arena.size());
    h.arena_published = arena.size();
    h.string_entry_bytes += 8;
    h.record_bytes += 8;
    for (std::size_t i = 0; i < h.lanes_used; ++i) {
        abi::Lane& lane = ring.lane(i);
        lane.head = std::min<std::uint64_t>(lane.head, 300);
        lane.record_capacity = 512;
        std::byte* const records = ring.memory() + lane.records_offset;
        for (std::uint64_t n = lane.head; n-- > 0;)
            std::memmove(records + n * (lane.record_bytes + 8), records + n * lane.record_bytes,
                         lane.record_bytes);
        lane.record_bytes += 8;
    }
}

TEST(Hostile, ANewerMinorWithLongerRecordsIsRead) {
    RingCopy ring;
    lengthen(ring);
    ring.header().version += 1;
    auto reader = required(TraceReader::attach(ring.fd()));
    TraceBatch batch;
    reader.drain(batch);
    EXPECT_GE(batch.spans.size(), 250u);
    EXPECT_GE(std::erase_if(batch.gpu_work, is_stage), 250u);
    EXPECT_GT(batch.api_calls.size(), 10u);
    EXPECT_EQ(batch.loss.malformed, 0u);
    EXPECT_TRUE(std::ranges::any_of(batch.names, [](const NameInfo& n) {
        return n.text.find("at::native::kernel") != std::string::npos;
    }));
}

TEST(Hostile, WhatIsNoRingIsRefused) {
    EXPECT_FALSE(TraceReader::attach(-1));
    RingCopy ring(false);
    auto unsealed = TraceReader::attach(ring.fd());
    ASSERT_FALSE(unsealed);
    EXPECT_NE(unsealed.error().message.find("sealed"), std::string::npos);
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    EXPECT_FALSE(TraceReader::attach(file));
    ::close(file);
    const int small = ::memfd_create("small", MFD_ALLOW_SEALING);
    ASSERT_EQ(::ftruncate(small, 100), 0);
    ASSERT_EQ(::fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    EXPECT_FALSE(TraceReader::attach(small));
    ::close(small);
}

TEST(Hostile, ImpossibleHeadersAreRefused) {
    const auto refused = [](auto change) {
        RingCopy ring;
        change(ring.header());
        return !TraceReader::attach(ring.fd());
    };
    using Header = abi::RingHeader;
    EXPECT_TRUE(refused([](Header& h) { h.magic ^= 1; }));
    EXPECT_TRUE(refused([](Header& h) { h.version += 1u << 16; }));
    EXPECT_TRUE(refused([](Header& h) { h.total_bytes = ~0ull; }));
    EXPECT_TRUE(refused([](Header& h) { h.lanes_offset = h.total_bytes - 8; }));
    EXPECT_TRUE(refused([](Header& h) { h.lanes_offset += 1; }));
    EXPECT_TRUE(refused([](Header& h) { h.lane_count = ~0u; }));
    EXPECT_TRUE(refused([](Header& h) { h.lane_bytes = 8; }));
    EXPECT_TRUE(refused([](Header& h) { h.arena_bytes = ~0ull; }));
    EXPECT_TRUE(refused([](Header& h) { h.rings_offset = ~0ull - 7; }));
    EXPECT_TRUE(refused([](Header& h) { h.record_bytes = 0; }));
    EXPECT_TRUE(refused([](Header& h) { h.tick_clock = 9; }));
    EXPECT_FALSE(refused([](Header& h) { h.version += 1; }));  // a newer minor is read
}

TEST(Hostile, LanesAndRecordsThatLie) {
    const std::uint64_t values[] = {
        0, 1, 3, 255, 0x7FFFFFFFull, 0xFFFFFFFFull, 1ull << 40, ~0ull, ~0ull - 7, abi::kHardCap};
    for (const std::uint64_t value : values) {
        RingCopy ring;
        ring.lane(0).head = value;
        read_everything(ring);
        RingCopy other;
        other.lane(0).records_offset = value;
        other.lane(0).depth = static_cast<std::uint32_t>(value);
        read_everything(other);
        RingCopy third;
        third.lane(0).record_capacity = static_cast<std::uint32_t>(value);
        read_everything(third);
        RingCopy fourth;
        for (std::size_t i = 0; i < 300; ++i) {
            abi::Record& record = fourth.record(0, i);
            if (i % 4 == 0) record.begin = value;
            if (i % 4 == 1) record.end = value;
            if (i % 4 == 2) record.name = static_cast<std::uint32_t>(value);
            if (i % 4 == 3) record.depth = static_cast<std::uint8_t>(value);
        }
        fourth.header().arena_published = value;
        fourth.header().clock_count = value;
        read_everything(fourth);
    }
}

TEST(Hostile, DeviceLanesAndLaunchesThatLie) {
    const std::uint64_t values[] = {
        0, 1, 3, 255, 0x7FFFFFFFull, 0xFFFFFFFFull, 1ull << 40, ~0ull, ~0ull - 7, abi::kHardCap};
    for (const std::uint64_t value : values) {
        RingCopy ring;
        for (std::size_t i = 0; i < 300; ++i) {
            abi::DeviceRecord& r = ring.device_record(i);
            if (i % 6 == 0) r.launch_begin = value;
            if (i % 6 == 1) r.launch_lane = static_cast<std::uint32_t>(value);
            if (i % 6 == 2) r.launch_depth = static_cast<std::uint32_t>(value);
            if (i % 6 == 3) r.launch_generation = static_cast<std::uint32_t>(value);
            if (i % 6 == 4) r.record.begin = value;
            if (i % 6 == 5)
                r.launch_lane =
                    static_cast<std::uint32_t>(ring.device_lane());  // launched by itself
        }
        ring.lane(ring.device_lane()).untimed = value;
        read_everything(ring);
        RingCopy size;
        size.lane(size.device_lane()).record_bytes = static_cast<std::uint32_t>(value);
        read_everything(size);
        RingCopy head;
        head.lane(head.device_lane()).head = value;
        read_everything(head);
        RingCopy kind;
        kind.lane(kind.device_lane()).kind = static_cast<std::uint32_t>(value);
        kind.lane(0).kind = static_cast<std::uint32_t>(abi::LaneKind::device);
        read_everything(kind);
    }
}

TEST(Hostile, UntouchedActivitiesReadWell) {
    RingCopy ring;
    auto reader = required(TraceReader::attach(ring.fd()));
    TraceBatch batch;
    reader.drain(batch);
    std::erase_if(batch.gpu_work, is_stage);
    EXPECT_EQ(batch.gpu_work.size(), RingCopy::kActivities / 2);
    EXPECT_EQ(batch.api_calls.size(), RingCopy::kActivities / 8);
    EXPECT_EQ(batch.syncs.size(), RingCopy::kActivities / 8);
    EXPECT_EQ(batch.overheads.size(), RingCopy::kActivities / 8);
    EXPECT_EQ(batch.memory.size(), RingCopy::kActivities / 8);
    ASSERT_EQ(batch.devices.size(), 1u);
    EXPECT_EQ(batch.devices[0].multiprocessors, 132);
    EXPECT_EQ(batch.names[batch.gpu_work[0].name - 1].text,
              "void at::native::kernel<float>(float)");
    // In time with the ranges: CUPTI's clock is the wall clock here, and all this happened within a
    // minute.
    const std::int64_t age = batch.read_ns - batch.gpu_work[0].begin_ns;
    EXPECT_LT(std::abs(age), 60'000'000'000);
}

TEST(Hostile, ActivitiesThatLie) {
    const std::uint64_t values[] = {
        0, 1, 3, 255, 0x7FFFFFFFull, 0xFFFFFFFFull, 1ull << 40, ~0ull, ~0ull - 7, abi::kHardCap};
    for (const std::uint64_t value : values) {
        RingCopy ring;
        for (std::size_t i = 0; i < RingCopy::kActivities; ++i) {
            abi::ActivityRecord& r = ring.activity(i);
            const auto small = static_cast<std::uint32_t>(value);
            if (i % 11 == 0) r.begin = value;
            if (i % 11 == 1) r.end = value;
            if (i % 11 == 2) r.correlation = small;
            if (i % 11 == 3) r.name = small;
            if (i % 11 == 4) r.kind = static_cast<std::uint8_t>(value);
            if (i % 11 == 5) r.device = static_cast<std::uint8_t>(value);
            if (i % 11 == 6) r.stream = small;
            if (i % 11 == 7) r.flags = static_cast<std::uint16_t>(value);
            if (i % 11 == 8) r.detail[i % 4] = value;
            if (i % 11 == 9) r.begin = r.end + value;
        }
        for (abi::GpuDevice& device : ring.header().devices)
            device.name = static_cast<std::uint32_t>(value);
        ring.header().cupti_state = static_cast<std::uint32_t>(value);
        ring.header().cupti_reason = static_cast<std::uint32_t>(value);
        ring.header().service_ticks = ring.header().service_cpu_ns = ring.header().heartbeat_ns =
            value;
        ring.header().budget_ppm = ring.header().duty_ppm = static_cast<std::uint32_t>(value);
        read_everything(ring);
        RingCopy lane;
        lane.lane(lane.activity_lane()).record_bytes = static_cast<std::uint32_t>(value);
        read_everything(lane);
        RingCopy head;
        head.lane(head.activity_lane()).head = value;
        read_everything(head);
        RingCopy kinds;  // what was written as one kind of lane is read as another
        kinds.lane(kinds.activity_lane()).kind = static_cast<std::uint32_t>(value);
        kinds.lane(kinds.device_lane()).kind = static_cast<std::uint32_t>(abi::LaneKind::activity);
        read_everything(kinds);
    }
}

TEST(Hostile, ActivitiesOfNoise) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        RingCopy ring;
        for (std::size_t i = 0; i < RingCopy::kActivities; ++i) {
            abi::ActivityRecord& r = ring.activity(i);
            auto* words = reinterpret_cast<std::uint64_t*>(&r);
            // Times stay possible in two records of three, else nothing gets as far as the store.
            for (std::size_t w = i % 3 == 0 ? 0 : 2; w < 8; ++w)
                words[w] = random_bits(seed, 6 + w, i) >> (random_bits(seed, 20 + w, i) % 64);
            if (i % 3 != 0) r.kind = static_cast<std::uint8_t>(random_bits(seed, 30, i) % 10);
        }
        read_everything(ring);
    }
}

TEST(Hostile, LanesThatClaimOneAnothersRecords) {
    RingCopy ring;
    // Every lane says that it has written all of the ring.
    for (std::size_t i = 0; i < abi::kLaneCount; ++i) {
        abi::Lane& lane = ring.lane(i);
        lane.records_offset = ring.header().rings_offset;
        lane.record_capacity = 1u << 18;
        lane.record_bytes = sizeof(abi::Record);
        lane.kind = static_cast<std::uint32_t>(abi::LaneKind::thread);
        lane.head = 1u << 18;
        lane.owner_first = 0;
    }
    auto reader = required(TraceReader::attach(ring.fd()));
    reader.skip_past();  // nothing is new
    for (std::size_t i = 0; i < abi::kLaneCount; ++i) ring.lane(i).head = 1u << 19;
    TraceBatch batch;
    reader.drain(batch);
    EXPECT_LE(batch.spans.size(), abi::kHardCap / sizeof(abi::Record));
    EXPECT_GE(batch.loss.malformed, abi::kLaneCount - 2u);
}

TEST(Hostile, SymbolsThatGrow) {
    EXPECT_EQ(readable_symbol("plain_kernel"), "plain_kernel");
    EXPECT_EQ(readable_symbol("_Z3fooIiEvT_"), "void foo<int>(int)");
    // Cut where a ring cuts it.
    EXPECT_EQ(readable_symbol("_ZN2at6native12_GLOBAL__N_16kernelIfLi4ENS_7vec"),
              "at::native::(anonymous namespace)::kernel<...>");
    EXPECT_EQ(readable_symbol("_Z"), "_Z");
    EXPECT_EQ(readable_symbol("_Z99999999999999999999x"), "x");
    // Each part names the one before three times: gigabytes, if somebody wrote them out.
    std::string bomb = "_Z1fI1aIS_S_S_E";
    for (int i = 0; i < 30; ++i) bomb += fmt::format("1aIS{0:X}_S{0:X}_S{0:X}_E", i);
    bomb += "Ev";
    EXPECT_LT(readable_symbol(bomb).size(), 100'000u);
}

TEST(Hostile, ClocksThatLie) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        RingCopy ring;
        auto* words = reinterpret_cast<std::uint64_t*>(&ring.header().first_clock);
        for (std::size_t i = 0; i < 8 + abi::kClockSlots * 5; ++i)
            words[i] = random_bits(seed, 1, i) >> (random_bits(seed, 2, i) % 64);
        ring.header().clock_count = random_bits(seed, 3, 0) % 200;
        read_everything(ring);
    }
}

TEST(Hostile, RandomDamageAnywhere) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        RingCopy ring;
        // Header, lanes, arena, and the first records, a few bytes to a few thousand at a time.
        const std::size_t span = ring.header().rings_offset + 32768;
        const std::uint64_t changes = 1ull << (seed % 12);
        for (std::uint64_t i = 0; i < changes; ++i) {
            const std::size_t where =
                random_bits(seed, 4, i) % (i % 4 == 0 ? sizeof(abi::RingHeader) + 4096 : span);
            if (where < 48 && seed % 3 != 0)
                continue;  // else most headers would be refused at once
            ring.memory()[where] = static_cast<std::byte>(random_bits(seed, 5, i));
        }
        read_everything(ring);
    }
}

TEST(Hostile, NamesBecomePrintable) {
    RingCopy ring;
    auto* entry = reinterpret_cast<abi::StringEntry*>(ring.memory() + ring.header().arena_offset);
    std::memcpy(entry + 1, "\xFF\n\xC3", 3);
    auto reader = required(TraceReader::attach(ring.fd()));
    TraceBatch batch;
    reader.drain(batch);
    ASSERT_FALSE(batch.names.empty());
    EXPECT_EQ(batch.names[0].text.substr(0, 3), "???");
}

}  // namespace
}  // namespace gs
