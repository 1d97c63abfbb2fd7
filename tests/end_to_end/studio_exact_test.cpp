// view.exact: the viewport's pictures along rays, of a run and of a splat file.
#include <algorithm>

#include "panels/viewport/frame_words.h"
#include "renderer/rays/ray_rasterizer.h"
#include "studio_harness.h"

namespace gs {
namespace {

class Exact : public ::testing::Test {
  protected:
    Exact() : h_(quiet_options()) {}
    void open(const std::string& path) {
        ASSERT_TRUE(h_.open(path));
        h_.state.navigation = first_view(*h_.state.scene);
    }
    std::shared_ptr<const ViewFrame> draw(bool exact, ViewMode mode = ViewMode::color) {
        EXPECT_TRUE(all_commands().run(h_.state, "view.exact", {exact ? "on" : "off"}));
        ViewRequest request = view_request_of(h_.state, 96, 72);
        request.settings.mode = mode;
        request.serial = ++h_.state.request_serial;
        h_.session.request_view(request);
        EXPECT_TRUE(
            h_.until([&] { return h_.state.frame && h_.state.frame->request == request.serial; }));
        return h_.state.frame;
    }
    void expect_exact(const GaussianModel& model) {
        const auto splats = draw(false), exact = draw(true);
        EXPECT_NE(exact->rgba.bytes, splats->rgba.bytes);
        EXPECT_EQ(std::ranges::count(facts_of(*exact), "along rays"), 1);
        EXPECT_EQ(std::ranges::count(facts_of(*splats), "along rays"), 0);
        const auto rasterizer = make_ray_rasterizer();
        ModelSource source(model);
        RenderResult result;
        RenderOptions options{.gradients = false};
        options.near_plane = 1e-3f;  // nothing of the sample is near
        rasterizer->forward(source, exact->camera, options, *rasterizer->make_state(), result);
        int apart = 0;
        for (std::size_t i = 0; i < result.color.pixels(); ++i)
            apart = std::max(apart,
                             std::abs(exact->rgba.bytes[4 * i] -
                                      static_cast<int>(std::lround(
                                          255 * std::clamp(result.color.values[i], 0.0f, 1.0f)))));
        EXPECT_LE(apart, 1);
    }
    SessionHarness h_;
};

TEST_F(Exact, ARunAndAFileAreDrawnAlongRays) {
    open(tiny_capture());
    const std::string file = (h_.folder.path() / "start.ply").string();
    ASSERT_TRUE(h_.until_done(h_.session.send(jobs::export_splats(file))));
    const auto splats = required(read_any_splats(find_contents(file)));
    expect_exact(splats.model);
    open(file);
    expect_exact(splats.model);
    EXPECT_TRUE(h_.errors.empty());
}

TEST_F(Exact, MapsOfSplattingAndParallelRaysStay) {
    open(tiny_capture());
    for (const ViewMode mode : {ViewMode::contributors, ViewMode::isects, ViewMode::pairs})
        EXPECT_EQ(draw(true, mode)->rgba.bytes, draw(false, mode)->rgba.bytes);
    for (const ViewMode mode : {ViewMode::depth, ViewMode::normals, ViewMode::median})
        EXPECT_NE(draw(true, mode)->rgba.bytes, draw(false, mode)->rgba.bytes);
    h_.state.navigation.through.model = CameraModel::orthographic;
    EXPECT_EQ(draw(true)->rgba.bytes, draw(false)->rgba.bytes);
    EXPECT_TRUE(h_.errors.empty());
}

}  // namespace
}  // namespace gs
