// The ring across processes: a forked child does not write into its parent's ring, and what a
// killed process wrote stays readable.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/record/scope.h"
#include "profiler/collect/reader.h"
#include "tests/support/required.h"

namespace gs {
namespace {

/// Runs `body` in a forked child; its wait status.
int status_of_child(const std::function<void()>& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        body();
        ::_exit(0);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    return status;
}

TEST(Fork, ChildWritesNothingIntoTheParentsRing) {
    auto reader = required(TraceReader::attach_own());
    TraceBatch before, after;
    const Span open(Stage::evaluation);
    reader.drain(before);
    const int status = status_of_child([] {
        for (std::uint64_t i = 0; i < 1000; ++i) const Span span(Stage::load, i);
        std::thread([] { const Span span(Stage::load); }).join();
        name_this_thread("child");
        if (is_recording() || ring_fd() >= 0 || register_string("child only") != 0) ::_exit(1);
        publish_clock_snapshot();
    });
    EXPECT_EQ(status, 0);
    reader.drain(after);
    EXPECT_TRUE(after.spans.empty());
    EXPECT_TRUE(after.names.empty());
    EXPECT_EQ(after.written, before.written);
    EXPECT_EQ(after.loss.total(), 0u);
    ASSERT_EQ(after.open.size(), 1u);
}

TEST(Fork, SpanOpenAcrossForkIsClosedInTheParentOnly) {
    auto reader = required(TraceReader::attach_own());
    TraceBatch before, after;
    reader.drain(before);
    int status = -1;
    {
        const Span open(Stage::checkpoint, 5);
        const pid_t pid = ::fork();
        if (pid != 0) ::waitpid(pid, &status, 0);
        if (pid == 0) {
            { const Span inner(Stage::load); }
            start_recording();  // a ring of its own, in which the span from before the fork was
                                // never opened
            open.~Span();
            ::_exit(0);
        }
    }
    EXPECT_EQ(status, 0);
    reader.drain(after);
    ASSERT_EQ(after.spans.size(), 1u);
    EXPECT_EQ(after.spans[0].payload, 5u);
}

TEST(Fork, ChildMayRecordForItself) {
    const int status = status_of_child([] {
        if (!start_recording()) ::_exit(1);
        { const Span span(Stage::load, 77); }
        auto reader = TraceReader::attach_own();
        if (!reader) ::_exit(2);
        TraceBatch batch;
        reader->drain(batch);
        if (batch.spans.size() != 1 || batch.spans[0].payload != 77) ::_exit(3);
        if (batch.pid != static_cast<std::uint32_t>(::getpid())) ::_exit(4);
    });
    EXPECT_EQ(status, 0);
}

TEST(Fork, SmallBudgetIsKeptAndStillServesManyThreads) {
    const int status = status_of_child([] {
        if (!start_recording({.bytes = 1})) ::_exit(1);
        struct stat status_of_ring {};
        if (::fstat(ring_fd(), &status_of_ring) != 0 || status_of_ring.st_size > 1 << 20)
            ::_exit(2);
        for (int t = 0; t < 300; ++t) std::thread([] { const Span span(Stage::load); }).join();
        auto reader = TraceReader::attach_own();
        TraceBatch batch;
        reader->drain(batch);
        if (batch.loss.total() != 0 || batch.spans.size() != 300) ::_exit(3);
    });
    EXPECT_EQ(status, 0);
}

/// Starts a child that records and then waits to be killed; the memfd of its ring, opened
/// read-only, once it is ready.
struct Recording {
    pid_t pid = -1;
    int fd = -1;
};
Recording start_recording_child() {
    int channel[2];
    EXPECT_EQ(::pipe(channel), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
        start_recording();
        name_this_thread("doomed");
        const Span outer(Stage::iteration, 1234);
        for (std::uint64_t i = 0; i < 500; ++i) const Span span(Stage::blend, i);
        const Span inner(Stage::sort, 99);
        const int fd = ring_fd();
        if (::write(channel[1], &fd, sizeof fd) != sizeof fd) ::_exit(1);
        for (;;) ::pause();
    }
    int child_fd = -1;
    EXPECT_EQ(::read(channel[0], &child_fd, sizeof child_fd),
              static_cast<ssize_t>(sizeof child_fd));
    ::close(channel[0]);
    ::close(channel[1]);
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(child_fd);
    return {pid, ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

TEST(Crash, RecordsAndOpenSpansSurviveKill) {
    const Recording child = start_recording_child();
    ASSERT_GE(child.fd, 0);
    ASSERT_EQ(::kill(child.pid, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child.pid, &status, 0), child.pid);
    ASSERT_TRUE(WIFSIGNALED(status));

    auto reader = TraceReader::attach(child.fd);
    ::close(child.fd);
    ASSERT_TRUE(reader) << reader.error().text();
    EXPECT_FALSE(reader->producer_alive());
    TraceBatch batch;
    reader->drain(batch);
    EXPECT_EQ(batch.pid, static_cast<std::uint32_t>(child.pid));
    ASSERT_EQ(batch.spans.size(), 500u);
    for (std::size_t i = 0; i < 500; ++i) {
        EXPECT_EQ(batch.spans[i].payload, i);
        EXPECT_EQ(batch.spans[i].depth, 1);
    }
    ASSERT_EQ(batch.open.size(), 2u);
    EXPECT_EQ(batch.open[0].payload, 1234u);
    EXPECT_EQ(batch.open[0].name, string_of(Stage::iteration));
    EXPECT_EQ(batch.open[1].payload, 99u);
    EXPECT_EQ(batch.open[1].name, string_of(Stage::sort));
    ASSERT_FALSE(batch.tracks.empty());
    EXPECT_EQ(batch.tracks.back().name, "doomed");
    EXPECT_EQ(batch.loss.total(), 0u);
}

TEST(Crash, LateReaderOfAForeignProcessSeesWhatTheRingStillHolds) {
    const Recording child = start_recording_child();
    ASSERT_GE(child.fd, 0);
    auto reader = required(TraceReader::attach(child.fd));
    EXPECT_TRUE(reader.producer_alive());
    TraceBatch batch;
    reader.drain(batch);
    EXPECT_EQ(batch.spans.size(), 500u);
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
    ::close(child.fd);
}

}  // namespace
}  // namespace gs
