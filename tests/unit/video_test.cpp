// Videos: the written file is a video with the given number of pictures, every size and name is
// accepted or refused with a message, and an unfinished video leaves no file.
#include "renderer/io/video/video_writer.h"

#include "tests/unit/io_files.h"
#include "tests/unit/video_decode.h"

namespace gs::test {
namespace {

class Video : public testing::Test {
  protected:
    static std::size_t files_in(const fs::path& folder) {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }
    TempFolder folder_;
};

/// Large areas of one colour, another with each picture: what survives compression.
Image8 areas(int width, int height, int index) {
    Image8 out{width, height, 4, {}};
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const bool left = 2 * x < width, top = 2 * y < height;
            out.bytes.push_back(static_cast<std::uint8_t>(left ? 220 - 20 * index : 30));
            out.bytes.push_back(static_cast<std::uint8_t>(top ? 40 + 25 * index : 190));
            out.bytes.push_back(static_cast<std::uint8_t>(left == top ? 200 : 60));
            out.bytes.push_back(0);  // alpha is left out
        }
    return out;
}

TEST_F(Video, HoldsEveryPictureInItsColours) {
    const fs::path file = folder_ / "film.mp4";
    for (const VideoCodec codec : {VideoCodec::h264, VideoCodec::av1})
        for (const int width : {129, 67}) {  // odd; one encoder of AV1 begins at 64 high
            fs::remove(file);
            const int height = width == 129 ? 97 : 41;
            auto video = required(VideoWriter::create(file, {width, height, 24, codec, 90}));
            EXPECT_FALSE(video.encoder().empty());
            for (int i = 0; i < 5; ++i) ASSERT_TRUE(video.add(areas(width, height, i)));
            EXPECT_FALSE(fs::exists(file));
            ASSERT_TRUE(video.finish());
            EXPECT_EQ(files_in(folder_.path()), 1u);
            const std::string bytes = *read_text_file(file);
            EXPECT_LT(bytes.find("moov"), bytes.find("mdat")) << "the index is not in front";

            const DecodedVideo back = decode(file);
            EXPECT_TRUE(back.bt709);
            EXPECT_NEAR(back.fps, 24, 1e-6);
            ASSERT_EQ(back.pictures.size(), 5u);
            for (int i = 0; i < 5; ++i) {
                const Image8& shown = back.pictures[static_cast<std::size_t>(i)];
                ASSERT_EQ(shown.width, width + 1);
                ASSERT_EQ(shown.height, height + 1);
                const Image8 put = areas(width, height, i);
                for (const int x : {width / 4, 3 * width / 4})
                    for (const int y : {height / 4, 3 * height / 4})
                        for (int c = 0; c < 3; ++c)
                            EXPECT_NEAR(shown.at(x, y)[c], put.at(x, y)[c], 5)
                                << "picture " << i << " at " << x << ", " << y;
            }
        }
}

TEST_F(Video, MatroskaByName) {
    for (const char* name : {"film.mkv", "FILM.MKV"}) {
        auto video = required(VideoWriter::create(folder_ / name, {16, 16, 29.97}));
        ASSERT_TRUE(video.add(pattern(16, 16, 3)));
        ASSERT_TRUE(video.finish());
        EXPECT_EQ(read_text_file(folder_ / name)->substr(0, 4), "\x1A\x45\xDF\xA3");
        EXPECT_EQ(decode(folder_ / name).pictures.size(), 1u);
    }
}

TEST_F(Video, IsSmallerOfALesserQuality) {
    for (const VideoCodec codec : {VideoCodec::h264, VideoCodec::av1}) {
        std::uintmax_t bytes[2] = {};
        for (const int quality : {20, 95}) {
            const fs::path file = folder_ / "film.mp4";
            auto video = required(VideoWriter::create(file, {96, 96, 24, codec, quality}));
            for (int i = 0; i < 3; ++i) ASSERT_TRUE(video.add(pattern(96, 96, 3)));
            ASSERT_TRUE(video.finish());
            bytes[quality > 50] = fs::file_size(file);
        }
        EXPECT_LT(bytes[0], bytes[1]) << kVideoCodecNames[static_cast<std::size_t>(codec)];
    }
}

TEST_F(Video, LeavesNothingUnlessFinished) {
    folder_.write("film.mp4", "what was there");
    {
        auto video = required(VideoWriter::create(folder_ / "film.mp4", {16, 16, 30}));
        ASSERT_TRUE(video.add(pattern(16, 16, 3)));
        VideoWriter moved = std::move(video);
        EXPECT_FALSE(moved.add(pattern(8, 16, 3)));
    }
    EXPECT_EQ(*read_text_file(folder_ / "film.mp4"), "what was there");
    EXPECT_EQ(files_in(folder_.path()), 1u);
}

TEST_F(Video, SaysWhatIsWrong) {
    const auto refused = [&](const fs::path& file, ErrorKind kind, const char* says) {
        const auto video = VideoWriter::create(file, {16, 16, 30});
        ASSERT_FALSE(video);
        EXPECT_EQ(video.error().kind, kind);
        EXPECT_THAT(video.error().text(), HasSubstr(says));
    };
    refused(folder_ / "film.avi", ErrorKind::usage, ".mp4");
    refused(folder_ / "none/film.mp4", ErrorKind::unwritable, "no such folder");
}

}  // namespace
}  // namespace gs::test
