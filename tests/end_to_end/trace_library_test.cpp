// Opening traces in the studio: files come in beside the session without waiting, damaged ones say
// why, closing stops reading, and which files are traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "app/session/trace_library.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_text.h"
#include "profiler/files/trace_file.h"
#include "tests/panels/fake_trainer.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/service_process.h"

namespace gs::test {
namespace {

class Library : public testing::Test {
  protected:
    Library() {
        TraceStore made;
        fill_trainer(made, {.iterations = 30});
        spans = made.span_count();
        EXPECT_TRUE(export_perfetto(made, folder / "run.pftrace"));
        EXPECT_TRUE(export_chrome(made, folder / "run.json"));
        EXPECT_TRUE(write_text_file(folder / "broken.json", "{\"traceEvents\": [{\"ph\": \"X\", "));
        EXPECT_TRUE(write_text_file(folder / "transforms.json", "{\"frames\": []}"));
        EXPECT_TRUE(write_text_file(folder / "list.json", "[{\"name\": \"a\", \"ph\": \"X\"}]"));
    }
    /// Frames of the studio until nothing is read any more.
    static void settle(TraceLibrary& library) {
        for (int i = 0; i < 20'000 && library.reading(); ++i) {
            library.update();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_FALSE(library.reading());
    }

    const test::TemporaryFolder folder;
    std::uint64_t spans = 0;
    TraceStore own;
    std::atomic<int> woken{0};
};

TEST_F(Library, TracesAreToldFromOtherFiles) {
    EXPECT_TRUE(is_trace_file(folder / "run.pftrace"));
    EXPECT_TRUE(is_trace_file(folder / "run.json"));
    EXPECT_TRUE(is_trace_file(folder / "broken.json"));
    EXPECT_TRUE(is_trace_file(folder / "list.json"));
    EXPECT_TRUE(is_trace_file("elsewhere/X.PFTRACE.gz"));
    EXPECT_FALSE(is_trace_file(folder / "transforms.json"));
    EXPECT_FALSE(is_trace_file(folder / "absent.json"));
    EXPECT_FALSE(is_trace_file("scene.ply"));
    EXPECT_FALSE(is_trace_file(folder));
}

TEST_F(Library, FilesComeBesideTheSession) {
    TraceLibrary library(own, [&] { ++woken; });
    ASSERT_EQ(library.entries().size(), 1u);
    EXPECT_EQ(library.shown_store(), &own);
    library.open((folder / "run.pftrace").string());
    library.open((folder / "run.json").string());
    ASSERT_EQ(library.entries().size(), 3u);
    settle(library);
    EXPECT_EQ(woken, 2);
    EXPECT_FALSE(library.take_failure());
    const TraceStore* json = library.shown_store();
    ASSERT_TRUE(json) << "the last one opened is shown";
    EXPECT_EQ(json->span_count(), spans);
    ASSERT_TRUE(library.show("run.pftrace"));
    ASSERT_TRUE(library.shown_store());
    EXPECT_NE(library.shown_store(), json);
    EXPECT_EQ(library.shown_store()->span_count(), spans);
    library.open((folder / "run.json").string());
    EXPECT_EQ(library.entries().size(), 3u) << "it is open";
    EXPECT_EQ(library.shown_store(), json);
    ASSERT_TRUE(library.show("this session"));
    EXPECT_EQ(library.shown_store(), &own);
    EXPECT_FALSE(library.show("nothing"));
    EXPECT_FALSE(library.close("this session"));
    ASSERT_TRUE(library.close("run.json"));
    EXPECT_EQ(library.entries().size(), 2u);
}

TEST_F(Library, ADamagedFileSaysWhy) {
    TraceLibrary library(own, [] {});
    library.open((folder / "broken.json").string());
    settle(library);
    EXPECT_TRUE(library.take_failure());
    EXPECT_FALSE(library.shown_store());
    EXPECT_THAT(library.entries()[1].problem, testing::HasSubstr("broken.json"));
}

TEST_F(Library, ClosingStopsReading) {
    {
        TraceStore many;
        fill_many(many, 400'000, 1'000'000);
        ASSERT_TRUE(export_perfetto(many, folder / "many.pftrace"));
    }
    TraceLibrary library(own, [] {});
    library.open((folder / "many.pftrace").string());
    EXPECT_TRUE(library.reading());
    ASSERT_TRUE(library.close("many.pftrace"));
    EXPECT_FALSE(library.reading());
    EXPECT_EQ(library.entries().size(), 1u);
    EXPECT_EQ(library.shown_store(), &own);
    // Opened again it is read whole.
    library.open((folder / "many.pftrace").string());
    settle(library);
    ASSERT_TRUE(library.shown_store());
    EXPECT_GT(library.shown_store()->span_count(), 390'000u);
}

// An attached process ends: the library reports it once and keeps its trace.
TEST_F(Library, AProcessThatEndsIsToldAndItsTraceStays) {
    const service::RuntimeDirectory directory;
    service::ServedProcess child([](const service::Wire& wire) {
        wire.hear();
        for (std::uint64_t i = 0; i < 500; ++i) const Span span(Stage::blend, i);
        wire.say('d');
        for (;;) ::pause();
    });
    TraceLibrary library(own, [] {});
    ASSERT_TRUE(library.attach(static_cast<std::uint32_t>(child.pid())));
    ASSERT_TRUE(service::eventually([&] {
        library.update();
        return library.shown_store()->sources().read_ns() > 0;
    }));
    child.wire().say('g');
    ASSERT_EQ(child.wire().hear(), 'd');
    ASSERT_TRUE(library.entries()[1].live);
    EXPECT_TRUE(library.take_ended().empty());
    child.kill(SIGKILL);
    ASSERT_TRUE(service::eventually([&] {
        library.update();
        return !library.entries()[1].live;
    }));
    for (int i = 0; i < 3; ++i) library.update();
    EXPECT_TRUE(library.entries()[1].ended);
    ASSERT_EQ(library.take_ended().size(), 1u);
    EXPECT_TRUE(library.take_ended().empty());
    EXPECT_EQ(library.entries()[1].problem, "the process has ended");
    ASSERT_TRUE(library.shown_store());
    EXPECT_GE(library.shown_store()->span_count(), 500u);
}

// Any process has call stacks, or the trace says why not.
TEST_F(Library, CallStacksOfAProcessAreShownLive) {
    const service::RuntimeDirectory directory;
    service::ServedProcess child([](const service::Wire&) {
        volatile double sum = 0;
        for (;;) sum = sum + 1;
    });
    TraceLibrary library(own, [] {});
    ASSERT_TRUE(library.attach(static_cast<std::uint32_t>(child.pid()), 99));
    ASSERT_TRUE(service::eventually([&] {
        library.update();
        return !library.shown_store()->samples().empty() ||
               library.entries()[1].problem.find("no call stacks") != std::string::npos;
    }));
    child.kill(SIGKILL);
    EXPECT_TRUE(service::eventually([&] {
        library.update();
        return library.entries()[1].ended;
    }));
}

}  // namespace
}  // namespace gs::test
