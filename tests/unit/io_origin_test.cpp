// Captures far from zero: every reader takes an origin out before single precision, every writer
// adds it again, and captures near zero have none.
#include "renderer/io/captures/camera_export.h"
#include "renderer/scene/origin.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

constexpr Vec3d kUtm{500123.5, 4500678.25, 321.125};

double apart(Vec3d a, Vec3d b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

Vec3d place(std::size_t i) {
    const double t = 0.7 * static_cast<double>(i);
    return {2 * std::cos(t), 2 * std::sin(t), 0.1 * static_cast<double>(i)};
}
Vec3d point(std::size_t i) {
    const double t = static_cast<double>(i);
    return {0.01 * std::sin(3 * t), 0.013 * t, 0.5 * std::cos(t)};
}
constexpr std::size_t kPhotos = 6, kPoints = 40;

// Cameras that look along z from place(), and points, all moved by `by`.
void write_colmap(const TempFolder& folder, Vec3d by) {
    Packer cameras, images, points;
    cameras.add<std::uint64_t>(1).add<std::uint32_t>(1).add<std::int32_t>(1);
    cameras.add<std::uint64_t>(24).add<std::uint64_t>(18).add(30.0).add(30.0).add(12.0).add(9.0);
    images.add<std::uint64_t>(kPhotos);
    for (std::size_t i = 0; i < kPhotos; ++i) {
        const Vec3d t = -(by + place(i));
        images.add(static_cast<std::uint32_t>(i + 1)).add(1.0).add(0.0).add(0.0).add(0.0);
        images.add(t.x).add(t.y).add(t.z).add<std::uint32_t>(1).text(fmt::format("{}.png", i));
        images.add<std::uint64_t>(0);
    }
    points.add<std::uint64_t>(kPoints);
    for (std::size_t i = 0; i < kPoints; ++i) {
        const Vec3d p = by + point(i);
        points.add<std::uint64_t>(i + 1).add(p.x).add(p.y).add(p.z);
        points.add<std::uint8_t>(1).add<std::uint8_t>(2).add(static_cast<std::uint8_t>(i));
        points.add(0.5).add<std::uint64_t>(0);
    }
    folder.write("sparse/0/cameras.bin", cameras.bytes);
    folder.write("sparse/0/images.bin", images.bytes);
    folder.write("sparse/0/points3D.bin", points.bytes);
}

std::string frames_json(Vec3d by) {
    std::string frames;
    for (std::size_t i = 0; i < kPhotos; ++i) {
        const Vec3d p = by + place(i);  // OpenGL axes: y and z turned
        frames += fmt::format(
            R"({}{{"file_path":"{}.png","w":24,"h":18,"fl_x":30,"fl_y":30,"cx":12,"cy":9,)"
            R"("transform_matrix":[[1,0,0,{:.17g}],[0,-1,0,{:.17g}],[0,0,-1,{:.17g}],[0,0,0,1]]}})",
            i > 0 ? "," : "", i, p.x, p.y, p.z);
    }
    return frames;
}
void write_transforms_capture(const TempFolder& folder, Vec3d by) {
    Packer ply;
    ply.bytes = fmt::format(
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty double x\nproperty "
        "double y\nproperty double z\nproperty uchar red\nproperty uchar green\nproperty uchar "
        "blue\nend_header\n",
        kPoints);
    for (std::size_t i = 0; i < kPoints; ++i) {
        const Vec3d p = by + point(i);
        ply.add(p.x).add(p.y).add(p.z).add<std::uint8_t>(1).add<std::uint8_t>(2);
        ply.add(static_cast<std::uint8_t>(i));
    }
    folder.write("points3d.ply", ply.bytes);
    folder.write("transforms.json",
                 R"({"ply_file_path":"points3d.ply","frames":[)" + frames_json(by) + "]}");
}
void write_opensfm(const TempFolder& folder, Vec3d by) {
    std::string shots, points;
    for (std::size_t i = 0; i < kPhotos; ++i) {
        const Vec3d t = -(by + place(i));
        shots += fmt::format(
            R"({}"{}.png":{{"camera":"c","rotation":[0,0,0],"translation":[{:.17g},{:.17g},{:.17g}]}})",
            i > 0 ? "," : "", i, t.x, t.y, t.z);
    }
    for (std::size_t i = 0; i < kPoints; ++i) {
        const Vec3d p = by + point(i);
        points +=
            fmt::format(R"({}"{}":{{"coordinates":[{:.17g},{:.17g},{:.17g}],"color":[1,2,{}]}})",
                        i > 0 ? "," : "", i, p.x, p.y, p.z, i);
    }
    folder.write("reconstruction.json",
                 R"([{"cameras":{"c":{"projection_type":"perspective","width":24,"height":18,)"
                 R"("focal":1.25,"k1":0,"k2":0}},"shots":{)" +
                     shots + R"(},"points":{)" + points + "}}]");
}

using WriteCapture = void (*)(const TempFolder&, Vec3d);
struct Kind {
    const char* name;
    WriteCapture write;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class FarCaptures : public ::testing::TestWithParam<Kind> {
  protected:
    static Result<Capture> load(const TempFolder& folder, CaptureOptions options = {}) {
        options.photos = false;
        return load_capture(folder.path(), options);
    }
};

TEST_P(FarCaptures, KeepTheirShape) {
    for (const Vec3d by : {kUtm, Vec3d{1e6, -1e6, 1e6}, Vec3d{1e7, 0, 0}, Vec3d{0, 0, -3e7}}) {
        SCOPED_TRACE(text_of_origin(by));
        const TempFolder folder;
        GetParam().write(folder, by);
        const auto capture = required(load(folder));
        EXPECT_LT(apart(capture.origin, by), 4);
        ASSERT_EQ(capture.views.size(), kPhotos);
        ASSERT_EQ(capture.points.size(), kPoints);
        for (std::size_t i = 0; i < kPhotos; ++i)
            EXPECT_LT(apart(capture.origin + capture.views[i].camera.position(), by + place(i)),
                      2e-8 + 2e-16 * apart(by, {}));
        for (const SparsePoint& p : capture.points)
            EXPECT_LT(apart(world_position(p.position, capture.origin), by + point(p.rgb[2])),
                      1e-6);
        EXPECT_EQ(std::ranges::count(capture.notes, CaptureNote::Kind::origin, &CaptureNote::kind),
                  1);
    }
}

TEST_P(FarCaptures, NearOnesHaveNoOrigin) {
    for (const Vec3d by : {Vec3d{}, Vec3d{1, 2, 3}, Vec3d{1000, -2000, 0}}) {
        const TempFolder folder;
        GetParam().write(folder, by);
        const auto capture = required(load(folder));
        EXPECT_TRUE(is_zero(capture.origin));
        for (const SparsePoint& p : capture.points) {
            const Vec3d exact = by + point(p.rgb[2]);
            EXPECT_EQ(p.position.x, static_cast<float>(exact.x));
        }
    }
}

TEST_P(FarCaptures, TakeTheOriginTheyAreGiven) {
    const TempFolder folder;
    GetParam().write(folder, kUtm);
    CaptureOptions options{.origin = Vec3d{500000, 4500000, 0}};
    const auto capture = required(load(folder, options));
    EXPECT_TRUE(same_place(capture.origin, *options.origin));
    options.origin = Vec3d{};  // a run from before there were origins
    const auto whole = required(load(folder, options));
    EXPECT_TRUE(is_zero(whole.origin));
}

TEST_P(FarCaptures, ExportsAreWhereTheyWere) {
    const TempFolder folder;
    GetParam().write(folder, kUtm);
    const auto capture = required(load(folder));
    std::vector<Camera> cameras;
    for (const View& view : capture.views) cameras.push_back(view.camera);
    for (const CameraFormat format :
         {CameraFormat::transforms, CameraFormat::colmap, CameraFormat::colmap_text}) {
        const TempFolder to;
        const fs::path into =
            format == CameraFormat::transforms ? to.path() : to.path() / "sparse/0";
        const auto written = write_cameras(into, format, capture, cameras);
        ASSERT_TRUE(written) << written.error().text();
        CaptureOptions options;
        options.origin = Vec3d{500000, 4500000, 300};  // another one than was chosen
        const auto back = required(load(to, options));
        ASSERT_EQ(back.views.size(), kPhotos);
        for (std::size_t i = 0; i < kPhotos; ++i)
            EXPECT_LT(apart(back.origin + back.views[i].camera.position(), kUtm + place(i)), 1e-7);
        ASSERT_EQ(back.points.size(), kPoints);
        for (const SparsePoint& p : back.points)
            EXPECT_LT(apart(world_position(p.position, back.origin), kUtm + point(p.rgb[2])), 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Readers, FarCaptures,
                         ::testing::Values(Kind{"colmap", write_colmap},
                                           Kind{"transforms", write_transforms_capture},
                                           Kind{"opensfm", write_opensfm}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Origin, ALostPoseDoesNotChooseIt) {
    std::vector<Vec3d> cameras, points;
    for (std::size_t i = 0; i < 8; ++i) cameras.push_back(place(i));
    for (std::size_t i = 0; i < 40; ++i) points.push_back(point(i));
    for (const double far : {1e4, 1e7, 1e12}) {
        cameras.back() = {far, 0, 0};
        EXPECT_TRUE(is_zero(origin_for(cameras, points)));
    }
    for (Vec3d& p : cameras) p += kUtm;
    for (Vec3d& p : points) p += kUtm;
    EXPECT_LT(apart(origin_for(cameras, points), kUtm), 4);
    EXPECT_TRUE(is_zero(origin_for({}, {})));
    const std::vector<Vec3d> poison{{std::nan(""), 0, 0}, {1e308, 1e308, 1e308}};
    EXPECT_TRUE(std::isfinite(origin_for(poison, {}).x));
}

TEST(Origin, PointsElsewhereThanTheCamerasLeaveIt) {
    // Points that somebody has moved to zero already: nothing fits them both.
    std::vector<Vec3d> cameras, points;
    for (std::size_t i = 0; i < 8; ++i) cameras.push_back(kUtm + place(i));
    for (std::size_t i = 0; i < 40; ++i) points.push_back(point(i));
    EXPECT_TRUE(is_zero(origin_for(cameras, points)));
}

TEST(Origin, OfASampleCapture) {
    GS_NEED_DATA("bugs/c12_utm");
    const auto capture = required(load_capture(data_path("bugs/c12_utm"), {}));
    EXPECT_GT(capture.origin.x, 4e5);
    EXPECT_GT(capture.origin.y, 4e6);
    for (const View& view : capture.views) EXPECT_LT(apart(view.camera.position(), {}), 20);
}

}  // namespace
}  // namespace gs::test
