// Splat files store how their Gaussians were trained to be drawn; other formats warn.
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/support/random_scene.h"
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

TEST(SplatTraining, TheSkyIsKeptWhereTheFormatHasAPlaceForIt) {
    const TempFolder folder;
    const GaussianModel plain = numbered_splats(10, 0, 1);
    for (int degree = 0; degree <= 3; ++degree) {
        const GaussianModel model = under_sky(plain, degree);
        for (const char* name : {"m.ply", "m.compressed.ply"}) {
            EXPECT_EQ(joined(*write_splats(folder / name, model, {})).find("sky"),
                      std::string::npos);
            EXPECT_EQ(read_splats(folder / name)->model.sky, model.sky) << name << degree;
        }
    }
    for (const char* name : {"m.splat", "m.glb", "m.csv", "m.spz", "m.sog"}) {
        EXPECT_THAT(joined(*write_splats(folder / name, under_sky(plain), {})),
                    ::testing::HasSubstr("cannot store the learned sky"))
            << name;
        EXPECT_EQ(joined(*write_splats(folder / name, plain, {})).find("sky"), std::string::npos);
    }
}

TEST(SplatTraining, OnlyAWholeSkyIsOne) {
    const auto said = [](const std::string& comments) {
        const auto header = parse_ply_header(
            "ply\nformat ascii 1.0\n" + comments + "element vertex 0\nend_header\n", "made.ply");
        EXPECT_TRUE(header) << comments;
        std::vector<std::string> notes;
        const Sky sky = header ? header->sky(notes) : under_sky({}).sky;
        EXPECT_EQ(notes.empty(), comments.empty() || !sky.empty()) << comments;
        return sky;
    };
    const std::string line = "comment SplatSky: 0.5 -0.25 1\n";
    EXPECT_EQ(said(line).degree, 0);
    EXPECT_EQ(said(line).sh[1], -0.25f);
    EXPECT_EQ(said(line + line + line + line).degree, 1);
    std::string many;
    for (int i = 0; i < 17; ++i) many += line;
    for (const std::string& odd :
         {std::string(), line + line, many, std::string("comment SplatSky: 1 2\n"),
          std::string("comment SplatSky: nan 0 0\n"), std::string("comment SplatSky: 3e38 0 0\n"),
          std::string("comment SplatSky:\n"), std::string("comment SplatSky: 1 2 blue\n")})
        EXPECT_EQ(said(odd), Sky()) << odd;
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
