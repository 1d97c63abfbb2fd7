// The doctor in the studio, without a window: it examines each opened model without being asked,
// shows repairs and undoes them, and goes to single Gaussians by id. All of its background work
// can be cancelled.
#include <algorithm>
#include <cmath>
#include <limits>

#include "renderer/io/splats/splat_io.h"
#include "studio_harness.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

using test::random_in;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// 3 rows that are no numbers, 2 copies, 4 that are invisible, among `count` sound ones.
GaussianModel spoilt_splats(std::size_t count) {
    GaussianModel m(count, 0);
    for (std::size_t i = 0; i < m.count; ++i) {
        for (int c = 0; c < 3; ++c) {
            m.at(kMeans + c, i) =
                static_cast<float>(random_in(1, static_cast<std::uint64_t>(c), i, -1, 1));
            m.at(kLogScales + c, i) = -4.0f;
            m.at(kSh0 + c, i) =
                static_cast<float>(random_in(2, static_cast<std::uint64_t>(c), i, -1, 1));
        }
        m.at(kOpacityLogits, i) = 1;
    }
    for (const std::size_t i : {5u, 6u, 7u}) m.at(kMeans, i) = kNaN;
    for (const std::size_t i : {20u, 21u})
        for (int p = 0; p < m.planes(); ++p) m.at(p, i) = m.at(p, 3);
    for (const std::size_t i : {30u, 31u, 32u, 33u}) m.at(kOpacityLogits, i) = -8;
    return m;
}

const Finding* find(const SessionHarness& h, const std::string& id) {
    if (!h.state.doctor) return nullptr;
    const auto& all = h.state.doctor->findings;
    const auto it = std::ranges::find(all, id, &Finding::id);
    return it == all.end() ? nullptr : &*it;
}

struct Doctor : ::testing::Test {
    bool open_spoilt(std::size_t count = 400) {
        path = (h.folder.path() / "spoilt.ply").string();
        return write_splats(path, spoilt_splats(count)) && h.open(path) && report_after(0);
    }
    /// Waits for an examination beyond `serial`, and until no background work is left.
    bool report_after(std::uint64_t serial) {
        return h.until([&] {
            return h.state.doctor && h.state.doctor->serial > serial && h.state.activities.empty();
        });
    }
    bool done_and_examined(EngineJob job) {
        const std::uint64_t before = serial();
        return h.until_done(h.session.send(std::move(job))) && report_after(before);
    }
    std::uint64_t serial() const { return h.state.doctor ? h.state.doctor->serial : 0; }

    SessionHarness h;
    std::string path;
};

TEST_F(Doctor, examines_what_is_opened_without_being_asked) {
    ASSERT_TRUE(open_spoilt());
    const Finding* broken = find(h, "not-finite-positions");
    ASSERT_TRUE(broken);
    EXPECT_EQ(broken->count, 3u);
    EXPECT_EQ(broken->examples.at(0), "#5");
    EXPECT_TRUE(broken->fixable);
    EXPECT_TRUE(find(h, "duplicates") && find(h, "invisible"));
    EXPECT_FALSE(find(h, "reader")) << "what the reader said of NaN is a finding already";
    EXPECT_TRUE(h.state.doctor->planned);
    EXPECT_EQ(h.state.doctor->now.gaussians, 400u);
    EXPECT_EQ(h.state.doctor->at_cap.gaussians, 5'000'000u);
    EXPECT_GT(h.state.doctor->host.free_bytes, 0u);
    // A capture, with what its training would take.
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(report_after(0));
    ASSERT_TRUE(h.until([&] { return h.state.doctor && !find(h, "duplicates"); }));
    EXPECT_TRUE(h.state.doctor->planned);
    EXPECT_EQ(h.state.doctor->photo_bytes, 9u * 80 * 60 * 3);
    EXPECT_FALSE(h.state.doctor->can_fix);
    EXPECT_FALSE(find(h, "unused-harmonics"))
        << "of a model that was not trained, only memory is of interest";
}

TEST_F(Doctor, mends_and_takes_back_one_after_the_other) {
    ASSERT_TRUE(open_spoilt());
    ASSERT_TRUE(done_and_examined(jobs::fix("duplicates")));
    EXPECT_EQ(h.state.scene->gaussians, 398u);
    EXPECT_FALSE(find(h, "duplicates"));
    EXPECT_TRUE(find(h, "invisible"));
    EXPECT_EQ(h.state.doctor->fixes, std::vector<std::string>{"duplicates"});
    ASSERT_TRUE(done_and_examined(jobs::fix()));
    EXPECT_FALSE(find(h, "reader"));
    EXPECT_EQ(h.state.scene->gaussians, 391u);
    for (const Finding& f : h.state.doctor->findings) EXPECT_FALSE(f.fixable) << f.id;
    EXPECT_GE(h.state.doctor->changes.size(), 3u);

    const std::string fixed = (h.folder.path() / "fixed.ply").string();
    EXPECT_TRUE(h.state.doctor->unsaved);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(fixed))));
    const auto written = required(read_splats(fixed));
    EXPECT_EQ(written.model.count, 391u) << "what is shown is exported";
    EXPECT_TRUE(h.until([&] { return !h.state.doctor->unsaved; })) << "and nothing would be lost";
    EXPECT_EQ(read_splats(path)->model.count, 400u) << "the file stays as it is";

    for (const std::uint64_t left : {398u, 400u}) {
        ASSERT_TRUE(done_and_examined(jobs::undo_fix()));
        EXPECT_EQ(h.state.scene->gaussians, left);
    }
    EXPECT_TRUE(h.state.doctor->fixes.empty());
    EXPECT_EQ(find(h, "not-finite-positions")->count, 3u);
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    h.session.send(jobs::undo_fix());
    h.session.send(jobs::fix("needles"));
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 2; }));
}

TEST_F(Doctor, the_picture_is_of_the_mended_splats_and_the_camera_stays) {
    ASSERT_TRUE(open_spoilt());
    const std::uint64_t scene = h.state.status.scene_serial;
    ViewRequest request = view_request_of(h.state, 80, 60);
    request.serial = 1;
    h.session.request_view(request);
    ASSERT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == 1; }));
    const std::uint64_t first = h.state.frame->serial;
    ASSERT_TRUE(h.until_done(h.session.send(jobs::fix("duplicates"))));
    ASSERT_TRUE(h.until([&] { return h.state.frame->serial > first; }))
        << "drawn again without being asked";
    EXPECT_EQ(h.state.status.scene_serial, scene) << "another scene would move the camera";
    EXPECT_LE(h.state.frame->visible, 398u);
}

TEST_F(Doctor, a_gaussian_is_looked_at_by_its_row) {
    ASSERT_TRUE(open_spoilt());
    ASSERT_TRUE(h.until_done(h.session.send(jobs::mark(8))));
    ASSERT_TRUE(h.until([&] { return h.state.marked != nullptr; }));
    const GaussianModel splats = spoilt_splats(400);
    EXPECT_EQ(h.state.marked->row, 8u);
    EXPECT_FLOAT_EQ(h.state.marked->mean.y, splats.at(kMeans + 1, 8));
    EXPECT_NEAR(std::sqrt(dot(h.state.marked->axes[0], h.state.marked->axes[0])), std::exp(-4.0f),
                1e-6f);
    const Vec3d target = h.state.navigation.target;
    EXPECT_NEAR(target.x, static_cast<double>(splats.at(kMeans, 8)), 1e-6);
    h.session.send(jobs::mark(5));
    h.session.send(jobs::mark(400));
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 2; }));
    EXPECT_NE(h.errors[0].text.find("not a number"), std::string::npos);
    EXPECT_NE(h.errors[1].text.find("#399"), std::string::npos);
}

TEST_F(Doctor, training_runs_are_examined_but_not_mended) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(report_after(0));
    h.session.send(jobs::steps(2));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 2; }));
    const std::uint64_t before = serial();
    h.session.send(jobs::examine());
    ASSERT_TRUE(report_after(before));
    for (const Finding& f : h.state.doctor->findings) EXPECT_FALSE(f.fixable) << f.id;
    h.session.send(jobs::fix());
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_NE(h.errors[0].text.find("export"), std::string::npos);
}

TEST_F(Doctor, what_goes_on_is_listed_and_can_be_cancelled) {
    path = (h.folder.path() / "large.ply").string();
    ASSERT_TRUE(write_splats(path, spoilt_splats(300'000)));
    ASSERT_TRUE(h.open(path));
    h.session.send(jobs::export_splats((h.folder.path() / "large.sog").string()));
    ASSERT_TRUE(h.until([&] {
        return std::ranges::any_of(h.state.activities,
                                   [](const Activity& a) { return a.name == "export"; });
    }));
    h.session.send(jobs::cancel());
    ASSERT_TRUE(h.until([&] { return h.state.activities.empty(); }));
    EXPECT_FALSE(fs::exists(h.folder.path() / "large.sog"));
    EXPECT_EQ(h.state.scene->gaussians, 300'000u) << "cancelling closes nothing";
    // Closing and opening meanwhile leave nothing behind.
    h.session.send(jobs::examine());
    h.session.send(jobs::fix());
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    ASSERT_TRUE(h.until([&] { return h.state.activities.empty() && !h.state.doctor; }));
}

TEST_F(Doctor, notices_tell_of_exports_and_errors) {
    ASSERT_TRUE(open_spoilt());
    ASSERT_TRUE(
        h.until_done(h.session.send(jobs::export_splats((h.folder.path() / "x.spz").string()))));
    const auto notice = std::ranges::find_if(h.notes, &EngineEvent::notice);
    ASSERT_NE(notice, h.notes.end());
    EXPECT_NE(notice->text.find("x.spz"), std::string::npos);
    ASSERT_FALSE(notice->lines.empty()) << "SPZ leaves out what is no number, and says so";
    const auto again =
        write_splats(h.folder.path() / "y.spz", spoilt_splats(400), SplatWriteOptions{});
    ASSERT_TRUE(again);
    EXPECT_EQ(notice->lines, *again) << "the same words as convert's";
}

}  // namespace
}  // namespace gs
