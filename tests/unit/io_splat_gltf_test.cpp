// glTF: the conformance matrix and the file with an unknown kernel of another program's tests, a
// scene splat-transform wrote, node transforms against turning a picture's camera.
#include "base/comparison.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/transform.h"
#include "tests/support/data.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

// Pixel differences of two models from one camera.
double picture_difference(const GaussianModel& a, const Camera& camera_a, const GaussianModel& b,
                          const Camera& camera_b) {
    RasterRun run(make_cpu_rasterizer());
    const Drawn first = run.draw(a, camera_a, {}), second = run.draw(b, camera_b, {});
    return compare({}, first.color, second.color).worst;
}

TEST(SplatGltf, ConformanceMatrix) {
    GS_NEED_DATA("splats/khr_gltf/khr_conformance_matrix.gltf");
    for (const char* name : {"khr_conformance_matrix.gltf", "khr_conformance_matrix.glb"}) {
        SCOPED_TRACE(name);
        const auto read = required(read_splats(data_path(std::string("splats/khr_gltf/") + name)));
        const GaussianModel& m = read.model;
        ASSERT_EQ(m.count, 15u);
        EXPECT_EQ(m.sh_degree, 3);
        EXPECT_THAT(joined(read.notes), HasSubstr("sizes are logarithms"));
        EXPECT_THAT(joined(read.notes), HasSubstr("lin_rec709_display"));
        for (std::size_t i = 0; i < m.count; ++i) {
            // (1, 2, 3) with y up.
            EXPECT_EQ(m.at(kMeans, i), -1);
            EXPECT_EQ(m.at(kMeans + 1, i), -2);
            EXPECT_EQ(m.at(kMeans + 2, i), 3);
            EXPECT_NEAR(m.at(kSh0 + 2, i), 0.3f, 1e-6);
        }
        // Rotations by half a turn about x, stored as floats, bytes and shorts, then by half a turn
        // about z.
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(std::abs(m.at(kQuats + 2, i)), 1, 1e-6) << i;
        EXPECT_NEAR(m.at(kLogScales, 4), 1, 1e-6);
        EXPECT_NEAR(m.at(kLogScales + 2, 5), -1, 1e-6);
        EXPECT_NEAR(m.at(kLogScales + 1, 6), -3, 1e-6);
        EXPECT_NEAR(1 / (1 + std::exp(-m.at(kOpacityLogits, 8))), 0.75, 1e-6);
        EXPECT_NEAR(1 / (1 + std::exp(-m.at(kOpacityLogits, 9))), 64 / 255.0, 1e-6);
        EXPECT_NEAR(1 / (1 + std::exp(-m.at(kOpacityLogits, 10))), 16384 / 65535.0, 1e-6);
        EXPECT_NEAR(m.at(kShRest, 12), -1.1f, 1e-5);  // y changes sign
        EXPECT_NEAR(m.at(kShRest + 3, 12), 2.1f, 1e-5);
        EXPECT_EQ(m.at(kShRest, 11), 0);
    }
}

TEST(SplatGltf, UnknownKernelsFallBack) {
    GS_NEED_DATA("splats/khr_gltf/khr_extensible_fallback.gltf");
    const auto read =
        required(read_splats(data_path("splats/khr_gltf/khr_extensible_fallback.gltf")));
    ASSERT_EQ(read.model.count, 1u);
    EXPECT_THAT(joined(read.notes), HasSubstr("customShape"));
    EXPECT_THAT(joined(read.notes), HasSubstr("COLOR_0"));
    EXPECT_EQ(read.model.at(kLogScales, 0), 0);
    EXPECT_NEAR(0.5f + 0.28209479f * read.model.at(kSh0 + 1, 0), 0.56419f, 1e-5);
    EXPECT_EQ(read.model.at(kOpacityLogits, 0), 0);
}

TEST(SplatGltf, WhatSplatTransformWrote) {
    GS_NEED_DATA("splats/playbot/playbot_l5.glb");
    const auto glb = read_splats(data_path("splats/playbot/playbot_l5.glb"));
    const auto ply = read_splats(data_path("splats/playbot/playbot_l5.ply"));
    ASSERT_TRUE(glb) << glb.error().text();
    ASSERT_TRUE(ply);
    ASSERT_EQ(glb->model.count, ply->model.count);
    ASSERT_EQ(glb->model.sh_degree, 2);
    for (int p = 0; p < ply->model.planes(); ++p) {
        if (p >= kQuats && p < kOpacityLogits) continue;
        for (std::size_t i = 0; i < ply->model.count; ++i)
            ASSERT_NEAR(glb->model.at(p, i), ply->model.at(p, i), 2e-5)
                << "plane " << p << " row " << i;
    }
    const Camera camera = look_at({1.5, -1.2, -1.5}, {0, -0.2, 0}, {0, -1, 0}, 96, 72, 1);
    EXPECT_LT(picture_difference(glb->model, camera, ply->model, camera), 2e-3);
}

TEST(SplatGltf, NodesMoveTurnAndScale) {
    // The Gaussians through a node, and the camera through its inverse: the same picture.
    const GaussianModel model = random_model({.count = 200});
    const Camera camera = random_camera(3, 1, 64, 48);
    const Mat3d turn = rotation_from_quat({0.3, 0.5, -0.7, 0.2});
    GaussianModel moved = model.resized(model.capacity, 3);
    transform_rows(moved, 0, moved.count, {turn, {1, -2, 0.5}});
    Camera follows = camera;
    follows.rotation = camera.rotation * transpose(turn);
    follows.translation = camera.translation - follows.rotation * Vec3d{1, -2, 0.5};
    EXPECT_LT(picture_difference(model, camera, moved, follows), 2e-3);
    // A mirror and back, by way of covariances.
    GaussianModel mirrored = model.resized(model.capacity, 3);
    const Affine mirror{{{{-1, 0, 0}, {0, 2, 0}, {0, 0, 1}}}, {}},
        back{{{{-1, 0, 0}, {0, 0.5, 0}, {0, 0, 1}}}, {}};
    transform_rows(mirrored, 0, mirrored.count, mirror);
    transform_rows(mirrored, 0, mirrored.count, back);
    EXPECT_LT(picture_difference(model, camera, mirrored, camera), 2e-3);
}

TEST(SplatGltf, HarmonicsTurnWithTheirFunction) {
    const auto matrices = sh_rotation(rotation_from_quat({1, 0, 0, 0}));
    for (std::size_t degree = 1; degree <= 3; ++degree)
        for (std::size_t i = 0; i < matrices[degree - 1].size(); ++i)
            EXPECT_NEAR(matrices[degree - 1][i], i % (2 * degree + 2) == 0 ? 1 : 0, 1e-12);
}

TEST(SplatGltf, TransformsOfNodesAreRead) {
    GS_NEED_DATA("splats/khr_gltf/khr_extensible_fallback.gltf");
    const TempFolder folder;
    std::string text = *read_text_file(data_path("splats/khr_gltf/khr_extensible_fallback.gltf"));
    const std::string node = "\"name\":\"extensible_unknown\"";
    ASSERT_NE(text.find(node), std::string::npos);
    text.replace(
        text.find(node), node.size(),
        "\"translation\":[10,20,30],\"scale\":[2,2,2],\"rotation\":[0,0,0.70710678,0.70710678]");
    folder.write("moved.gltf", text);
    const auto read = required(read_splats(folder / "moved.gltf"));
    // (1, 2, 3) doubled, a quarter turn about z, moved, then y and x downwards.
    EXPECT_NEAR(read.model.at(kMeans, 0), -(10 - 4), 1e-5);
    EXPECT_NEAR(read.model.at(kMeans + 1, 0), -(20 + 2), 1e-5);
    EXPECT_NEAR(read.model.at(kMeans + 2, 0), 36, 1e-5);
    EXPECT_NEAR(read.model.at(kLogScales, 0), std::log(2.0f), 1e-5);
}

TEST(SplatGltf, NothingLeadsOutside) {
    const TempFolder folder;
    const auto document = [](const std::string& uri, const std::string& nodes) {
        return "{\"asset\":{\"version\":\"2.0\"},\"extensionsUsed\":[\"KHR_gaussian_splatting\"],"
               "\"scenes\":[{\"nodes\":[0]}],\"nodes\":" +
               nodes + ",\"meshes\":[],\"buffers\":[{\"uri\":\"" + uri + "\",\"byteLength\":4}]}";
    };
    folder.write("secret.bin", "1234");
    for (const char* uri : {"../secret.bin", "/etc/passwd", "%2e%2e/secret.bin",
                            "a/../../secret.bin", "file:///etc/passwd"}) {
        folder.write("inner/m.gltf", document(uri, "[{}]"));
        const auto read = read_splats(folder / "inner/m.gltf");
        ASSERT_FALSE(read) << uri;
        EXPECT_THAT(read.error().text(), HasSubstr("names a buffer")) << uri;
    }
    folder.write("loop.gltf",
                 document("data:;base64,AAAA", "[{\"children\":[1]},{\"children\":[0]}]"));
    EXPECT_THAT(read_splats(folder / "loop.gltf").error().text(), HasSubstr("two parents"));
}

}  // namespace
}  // namespace gs::test
