// COLMAP's rigs and frames, as text and binary: which photos are of one frame, which are not where
// their rig has them, and damaged files.
#include "renderer/io/captures/capture_io.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_mutator.h"

namespace gs::test {
namespace {

// Two cameras side by side, 0.5 apart, which have taken photos 1 to 4 in frames 8 and 9, each by
// the first camera first; photo 5 is of a camera alone.
constexpr const char* kRigs =
    "# RIG_ID, NUM_SENSORS, REF_SENSOR_TYPE, REF_SENSOR_ID, SENSORS[]\n"
    "1 3 CAMERA 1 IMU 1 0 CAMERA 2 1 1 0 0 0 -0.5 0 0\n"
    "2 1 CAMERA 3\n";
constexpr const char* kFrames =
    "8 1 1 0 0 0 0 0 2 3 CAMERA 1 1 CAMERA 2 2 IMU 1 77\n"
    "9 1 0.6 0 0.8 0 1 0 2 2 CAMERA 1 3 CAMERA 2 4\n"
    "10 2 1 0 0 0 0 1 2 1 CAMERA 3 5\n";

std::string image_line(int id, const char* pose, int camera) {
    return fmt::format("{} {} {} p{}.png\n\n", id, pose, camera, id);
}
void write_model(const TempFolder& folder, const char* second = "1 0 0 0 -0.5 0 2") {
    folder.write("sparse/0/cameras.txt",
                 "1 PINHOLE 24 18 30 31 11 10\n2 PINHOLE 24 18 30 31 11 10\n"
                 "3 PINHOLE 24 18 30 31 11 10\n");
    folder.write("sparse/0/images.txt",
                 image_line(1, "1 0 0 0 0 0 2", 1) + image_line(2, second, 2) +
                     image_line(3, "0.6 0 0.8 0 1 0 2", 1) +
                     image_line(4, "0.6 0 0.8 0 0.5 0 2", 2) + image_line(5, "1 0 0 0 0 1 2", 3));
    folder.write("sparse/0/points3D.txt", "1 0 0 3 9 8 7 0.5\n");
    for (int i = 1; i <= 5; ++i)
        put_png(folder / fmt::format("images/p{}.png", i), pattern(24, 18, 3));
}
/// The same rigs and frames as COLMAP's binary files have them.
std::pair<std::string, std::string> binary_rigs() {
    constexpr std::int32_t kCamera = 0, kImu = 1;
    Packer rigs, frames;
    const auto pose = [](Packer& out, std::array<double, 7> v) {
        for (const double x : v) out.add(x);
    };
    rigs.add<std::uint64_t>(2).add<std::uint32_t>(1).add<std::uint32_t>(3);
    rigs.add(kCamera).add<std::uint32_t>(1);
    rigs.add(kImu).add<std::uint32_t>(1).add<std::uint8_t>(0);
    rigs.add(kCamera).add<std::uint32_t>(2).add<std::uint8_t>(1);
    pose(rigs, {1, 0, 0, 0, -0.5, 0, 0});
    rigs.add<std::uint32_t>(2).add<std::uint32_t>(1).add(kCamera).add<std::uint32_t>(3);
    const auto photo = [&](std::int32_t type, std::uint32_t sensor, std::uint64_t image) {
        frames.add(type).add(sensor).add(image);
    };
    frames.add<std::uint64_t>(3).add<std::uint32_t>(8).add<std::uint32_t>(1);
    pose(frames, {1, 0, 0, 0, 0, 0, 2});
    frames.add<std::uint32_t>(3);
    photo(kCamera, 1, 1), photo(kCamera, 2, 2), photo(kImu, 1, 77);
    frames.add<std::uint32_t>(9).add<std::uint32_t>(1);
    pose(frames, {0.6, 0, 0.8, 0, 1, 0, 2});
    frames.add<std::uint32_t>(2);
    photo(kCamera, 1, 3), photo(kCamera, 2, 4);
    frames.add<std::uint32_t>(10).add<std::uint32_t>(2);
    pose(frames, {1, 0, 0, 0, 0, 1, 2});
    frames.add<std::uint32_t>(1);
    photo(kCamera, 3, 5);
    return {rigs.bytes, frames.bytes};
}
/// Notes on rigs that are more than a note.
std::string complaints(const Capture& capture) {
    std::string out;
    for (const CaptureNote& note : capture.notes)
        if (note.kind == CaptureNote::Kind::rig) out += note.text + "\n";
    return out;
}

TEST(Rigs, PhotosOfOneFrameKnowIt) {
    for (const bool binary : {false, true}) {
        SCOPED_TRACE(binary);
        const TempFolder folder;
        write_model(folder);
        const auto [rigs, frames] = binary_rigs();
        folder.write(binary ? "sparse/0/rigs.bin" : "sparse/0/rigs.txt", binary ? rigs : kRigs);
        folder.write(binary ? "sparse/0/frames.bin" : "sparse/0/frames.txt",
                     binary ? frames : kFrames);
        const auto capture = required(load_capture(folder.path(), no_split()));
        ASSERT_EQ(capture.views.size(), 5u);
        const std::optional<std::uint32_t> wanted[] = {8, 8, 9, 9, std::nullopt};
        for (std::size_t v = 0; v < 5; ++v) EXPECT_EQ(capture.views[v].rig_frame, wanted[v]) << v;
        EXPECT_EQ(capture.views[1].camera_number, 2u);
        EXPECT_EQ(complaints(capture), "");
        EXPECT_THAT(joined(texts_of(capture.notes)), HasSubstr("4 photos are of 2 frames of rigs"));
    }
}

TEST(Rigs, APhotoThatIsElsewhereIsReported) {
    for (const auto& [pose, words] :
         {std::pair("1 0 0 0 -0.53 0 2",
                    "1 of 4 photos are not where their rig has them: up to 0 "
                    "degrees and 0.03 units"),
          std::pair("0.9998 0 0.02 0 -0.5 0 2", "up to 2.3 degrees")}) {
        const TempFolder folder;
        write_model(folder, pose);
        folder.write("sparse/0/rigs.txt", kRigs);
        folder.write("sparse/0/frames.txt", kFrames);
        const auto capture = required(load_capture(folder.path(), no_split()));
        EXPECT_THAT(complaints(capture), HasSubstr(words));
        EXPECT_EQ(capture.views[1].rig_frame, 8u);
    }
}

TEST(Rigs, DamagedFilesLoseTheRigsOnly) {
    const auto [rigs, frames] = binary_rigs();
    for (const bool binary : {false, true}) {
        const TempFolder folder;
        write_model(folder);
        folder.write(binary ? "sparse/0/rigs.bin" : "sparse/0/rigs.txt", binary ? rigs : kRigs);
        const std::string whole = binary ? frames : kFrames;
        hammer(whole, 400, [&](const std::string& bytes) {
            folder.write(binary ? "sparse/0/frames.bin" : "sparse/0/frames.txt", bytes);
            const auto capture = load_capture(folder.path(), no_split());
            EXPECT_TRUE(capture && capture->views.size() == 5);
            return capture && complaints(*capture).empty();
        });
        folder.write(binary ? "sparse/0/frames.bin" : "sparse/0/frames.txt",
                     whole.substr(0, whole.size() - 3));
        const auto capture = load_capture(folder.path(), no_split());
        ASSERT_TRUE(capture);
        EXPECT_THAT(complaints(*capture), HasSubstr("rigs are ignored"));
        EXPECT_FALSE(capture->views[0].rig_frame);
        hammer(binary ? rigs : kRigs, 400, [&](const std::string& bytes) {
            folder.write(binary ? "sparse/0/rigs.bin" : "sparse/0/rigs.txt", bytes);
            return load_capture(folder.path(), no_split()).has_value();
        });
    }
}

}  // namespace
}  // namespace gs::test
