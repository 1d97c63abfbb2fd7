// A bundle by script: saved, opened again, and all is as it was: picture, camera, notes, saved
// views, settings of the view.
#include <gtest/gtest.h>

#include "app/bundle/bundle_file.h"
#include "app/bundle/notes_file.h"
#include "app/studio/studio.h"
#include "renderer/io/images/image_io.h"
#include "studio_harness.h"

// As in studio_gl_test.cpp: the graphics driver leaves some memory behind.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace gs {
namespace {

class StudioBundle : public ::testing::Test {
  protected:
    TemporaryFolder folder_;
    std::string at_ = folder_.path().string() + "/";

    int run(const std::string& script, const std::string& path = {}) {
        StudioOptions options{.headless = true, .width = 900, .height = 640, .remember = false};
        options.contents = find_contents(path);
        options.script = at_ + "script.txt";
        options.session.settings.steps = 500;
        options.session.run.evaluate_every = options.session.run.save_every = 0;
        options.session.output_dir = at_ + "out";
        EXPECT_TRUE(write_text_file(options.script, script));
        return run_studio(options, all_commands());
    }
    std::string text_in(const std::string& bundle, const char* member) {
        const auto opened = unpack_bundle(at_ + bundle, {});
        EXPECT_TRUE(opened) << (opened ? "" : opened.error().text());
        if (!opened) return {};
        const auto text = read_text_file((*opened)->member(member));
        EXPECT_TRUE(text) << member;
        return text ? *text : "";
    }
};

TEST_F(StudioBundle, OpensAgainAsItWasSaved) {
    ASSERT_EQ(run("open " + tiny_capture() +
                  "\nwait-loaded\ntrain.run-to 30\nwait-step 30\nwait-idle\n"
                  "view.camera 0 -2 -4 0 0 0\nview.save door\nfilm.preset orbit\nview.mode depth\n"
                  "view.colormap inferno\nwait-frame\nnote.add 200 150 \"what is \\\"this\\\"\"\n"
                  "wait-idle\nnote.gaussian 7 \"a <Gaussian>\"\nwait-idle\n"
                  "timeline.select 1000 2000\nnote.span slow\nnote.edit 3 \"slower\"\nwait-frame\n"
                  "screenshot " +
                  at_ + "before.png 320 200\nwait-idle\nbundle.save " + at_ +
                  "one.gsb photos\nwait-idle\n"),
              0);
    ASSERT_EQ(run("wait-loaded\nwait-frame\nscreenshot " + at_ +
                      "after.png 320 200\nwait-idle\nview.go door\nbundle.save " + at_ +
                      "two.gsb\nwait-idle\nopen " + at_ + "two.gsb\nwait-loaded\nnote.remove 1\n",
                  at_ + "one.gsb"),
              0);
    EXPECT_EQ(required(read_image(at_ + "before.png")).bytes,
              required(read_image(at_ + "after.png")).bytes);

    const auto notes = required(parse_notes(text_in("one.gsb", "notes.json"), "one"));
    ASSERT_EQ(notes.size(), 3u);
    EXPECT_EQ(notes[0].text, "what is \"this\"");
    EXPECT_EQ(notes[0].step, 30u);
    EXPECT_EQ(notes[1].row, 7u);
    EXPECT_EQ(notes[2].text, "slower");
    EXPECT_EQ(notes[2].begin_ns, 1000);
    // The next bundle contains everything that this one had.
    for (const char* member : {"notes.json", "view.json", "film.json", "scene.ply"})
        EXPECT_EQ(text_in("one.gsb", member), text_in("two.gsb", member)) << member;
    EXPECT_NE(text_in("two.gsb", "views.txt").find("door = 0 -2 -4"), std::string::npos);
    EXPECT_NE(text_in("one.gsb", "report.html").find("a &lt;Gaussian&gt; (#7 at step 30)"),
              std::string::npos);
    EXPECT_NE(text_in("one.gsb", "curves.csv").find("loss,"), std::string::npos);
    EXPECT_GT(text_in("one.gsb", "trace.pftrace").size(), 1000u);
    const auto one = unpack_bundle(at_ + "one.gsb", {}), two = unpack_bundle(at_ + "two.gsb", {});
    ASSERT_TRUE(one && two);
    EXPECT_TRUE((*one)->facts.photos);
    EXPECT_FALSE((*two)->facts.photos);
    EXPECT_EQ((*one)->facts.step, 30u);
    EXPECT_EQ((*two)->facts.step, 30u);
    EXPECT_FALSE((*two)->member("capture").empty());
}

TEST_F(StudioBundle, WhatCannotBeDoneIsSaid) {
    const std::string open = "open " + tiny_capture() + "\nwait-loaded\nwait-frame\n";
    EXPECT_EQ(run("bundle.save " + at_ + "none.gsb\nwait-idle\n"), 1);
    EXPECT_EQ(run(open + "bundle.save " + at_ + "none.zip\nwait-idle\n"), 1);
    EXPECT_EQ(run(open + "bundle.save " + at_ + "no/such/folder/a.gsb\nwait-idle\n"), 1);
    EXPECT_EQ(run(open + "note.go 1\n"), 1);
    EXPECT_EQ(run(open + "note.gaussian 100000000 text\nwait-idle\n"), 1);
    EXPECT_EQ(run(open + "note.span text\nwait-idle\n"), 1);
    EXPECT_EQ(run("note.add 1 1 text\nwait-idle\n"), 1);
    ASSERT_TRUE(write_text_file(at_ + "bad.gsb", "no zip at all"));
    EXPECT_EQ(run("open " + at_ + "bad.gsb\nwait-idle\n"), 1);
}

}  // namespace
}  // namespace gs
