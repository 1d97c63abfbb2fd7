// Recordings of `gausscope serve` on a disk that is full or fails.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "profiler/serve/flight_recorder.h"
#include "serve_trace.h"

namespace gs::serve {
namespace {

using test::kMs;

/// A small disk, in a process of its own, which alone sees it.
class ServeDiskTest : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder);
        store.ingest(test::RecordedProcess().batch(20'000));
    }
    void TearDown() override { fs::remove_all(folder); }

    template <class Work>
    void on_small_disk(Work work) {
        constexpr int kNotAllowed = 2;
        const pid_t child = ::fork();
        if (child == 0) {
            const int own = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
            if (::unshare(own) != 0 ||
                ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=8m") != 0)
                ::_exit(kNotAllowed);
            auto recorder = FlightRecorder::open({.folder = folder});
            if (recorder) work(*recorder);
            ::_exit(HasFailure() || !recorder ? 1 : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed)
            GTEST_SKIP() << "a disk cannot be mounted here";
        EXPECT_EQ(status, 0);
    }
    /// Empty: there is no space for it.
    fs::path add(const std::string& kind) {
        const fs::path path =
            folder / fmt::format("gausscope-2026T{:03}Z-h-{}.pftrace", made++, kind);
        return write_text_file(path, std::string(128 << 10, 'x')) ? path : fs::path();
    }
    void fill_with(const std::string& kind) {
        while (!add(kind).empty()) {
        }
        std::ofstream rest(folder / "rest", std::ios::app);
        while (rest << std::string(4096, 'x') && rest.flush()) {
        }
    }
    std::ptrdiff_t count(const std::string& kind) const {
        return std::ranges::count_if(
            FlightRecorder::finished_in(folder),
            [&](const fs::path& file) { return file.string().ends_with(kind + ".pftrace"); });
    }
    std::size_t record(FlightRecorder& recorder) const {
        EXPECT_TRUE(recorder.ask_stretch("r", 10'000 * kMs, 20'000 * kMs));
        return recorder.write_all(store).size();
    }

    fs::path folder = fs::temp_directory_path() / ("serve_disk_test_" + std::to_string(::getpid()));
    TraceStore store;
    int made = 0;
};

TEST_F(ServeDiskTest, OneThatIsFullCostsFewRoutineRecordings) {
    on_small_disk([&](FlightRecorder& recorder) {
        for (int i = 0; i < 4; ++i) add("crash");
        // It cannot be removed, and is not tried for ever.
        const fs::path fixed = add("R3");
        EXPECT_EQ(::mount(fixed.c_str(), fixed.c_str(), nullptr, MS_BIND, nullptr), 0);
        fill_with("R3");
        const auto routine = count("R3");
        EXPECT_EQ(record(recorder), 1u);
        EXPECT_EQ(count("crash"), 4);
        EXPECT_TRUE(fs::exists(fixed));
        EXPECT_LT(count("R3"), routine);
        EXPECT_GT(count("R3"), routine * 3 / 4);
    });
}

TEST_F(ServeDiskTest, OneFullOfCrashesHasSpaceForAnotherCrashOnly) {
    on_small_disk([&](FlightRecorder& recorder) {
        fill_with("crash");
        const auto crashes = count("crash");
        EXPECT_EQ(record(recorder), 0u);
        EXPECT_EQ(count("crash"), crashes);
        EXPECT_NE(recorder.ask("crash", "", "killed", 20'000 * kMs), nullptr);
        EXPECT_EQ(recorder.write_all(store).size(), 1u);
        EXPECT_FALSE(fs::exists(folder / "gausscope-2026T000Z-h-crash.pftrace"));
        EXPECT_GT(count("crash"), crashes * 3 / 4);
    });
}

TEST_F(ServeDiskTest, OneThatFailsOtherwiseCostsNothing) {
    on_small_disk([&](FlightRecorder& recorder) {
        for (const char* kind : {"crash", "R3", "R3"}) add(kind);
        const auto kept = FlightRecorder::finished_in(folder);
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{100, 100};
        ::setrlimit(RLIMIT_FSIZE, &small);
        EXPECT_EQ(record(recorder), 0u);
        EXPECT_EQ(FlightRecorder::finished_in(folder), kept);
    });
}

}  // namespace
}  // namespace gs::serve
