// Splat files store how their Gaussians were trained to be drawn; other formats warn.
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

TEST(SplatTraining, IsSaidWhereTheFormatHasAPlaceForIt) {
    const TempFolder folder;
    const GaussianModel model = numbered_splats(10, 0, 1);
    const SplatWriteOptions options{.trained = {true, 110.5}};
    for (const char* name : {"m.ply", "m.compressed.ply", "m.sog"}) {
        const auto notes = required(write_splats(folder / name, model, options));
        EXPECT_EQ(joined(notes).find("unscented"), std::string::npos) << name;
        EXPECT_EQ(read_splats(folder / name)->trained, options.trained) << name;
        ASSERT_TRUE(write_splats(folder / name, model));
        EXPECT_EQ(read_splats(folder / name)->trained, TrainedThrough()) << name;
    }
    for (const char* name : {"m.splat", "m.glb", "m.csv", "m.spz"})
        EXPECT_THAT(joined(*write_splats(folder / name, model, options)),
                    ::testing::HasSubstr("unscented"))
            << name;
}

TEST(SplatTraining, OnlyWhatCanBeSaysAnything) {
    const auto said = [](const std::string& comments) {
        const auto header = parse_ply_header(
            "ply\nformat ascii 1.0\n" + comments + "element vertex 0\nend_header\n", "made.ply");
        EXPECT_TRUE(header) << comments;
        return header ? header->trained() : TrainedThrough{true, -1};
    };
    EXPECT_EQ(said("comment splatprojection: UT\ncomment SplatLens: 70 degrees\n"),
              (TrainedThrough{true, 70}));
    for (const char* odd : {"comment SplatProjection: ewa\n", "comment SplatProjection:\n",
                            "comment SplatLens: -3\n", "comment SplatLens: 1e9\n",
                            "comment SplatLens: nan\n", "comment SplatLens:\n", "comment\n"})
        EXPECT_EQ(said(odd), TrainedThrough()) << odd;
    EXPECT_TRUE(drawn_otherwise({false, 50}, false).empty());
    EXPECT_THAT(joined(drawn_otherwise({false, 110}, false)), ::testing::HasSubstr("110 degrees"));
    EXPECT_THAT(joined(drawn_otherwise({}, true)), ::testing::HasSubstr("antialiased"));
    EXPECT_EQ(drawn_otherwise({true, 110}, true).size(), 3u);
}

}  // namespace
}  // namespace gs::test
