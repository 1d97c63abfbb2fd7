// Bundles: what is packed comes back, and no file leads out of its folder, grows beyond itself or
// brings the program down.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/bundle/bundle_file.h"
#include "app/bundle/capture_file.h"
#include "app/bundle/view_file.h"
#include "app/paths/path_contents.h"
#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/files/zip_writer.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using test::TemporaryFolder;
using Members = std::vector<std::pair<std::string, std::string>>;

Result<void> make_zip(const fs::path& path, const Members& members) {
    GS_TRY(auto file, AtomicFile::create(path));
    ZipWriter zip(file);
    for (const auto& [name, text] : members) {
        GS_TRY_VOID(zip.add(name, std::as_bytes(std::span(text))));
    }
    GS_TRY_VOID(zip.finish());
    return file.commit();
}

/// With a manifest that names `files`, each as long as it says.
std::string manifest(const std::vector<std::pair<std::string, std::uint64_t>>& files,
                     int version = 1) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, bytes] : files) list.push_back({{"name", name}, {"bytes", bytes}});
    return nlohmann::json{{"format", "gausscope bundle"}, {"version", version}, {"files", list}}
        .dump();
}

class BundleFile : public testing::Test {
  protected:
    TemporaryFolder folder_, unpacked_into_;
    fs::path file_ = folder_ / "a.gsb";
    void SetUp() override { ::setenv("TMPDIR", unpacked_into_.path().c_str(), 1); }
    void TearDown() override {
        ::unsetenv("TMPDIR");
        EXPECT_TRUE(fs::is_empty(unpacked_into_.path())) << "something is left";
    }
    std::string error_of(const Members& members) {
        EXPECT_TRUE(make_zip(file_, members));
        const auto opened = unpack_bundle(file_, {});
        return opened ? "" : opened.error().text();
    }
};

TEST_F(BundleFile, WhatIsPackedComesBack) {
    const TemporaryFolder from;
    fs::create_directories(from.path() / "capture/images");
    ASSERT_TRUE(write_text_file(from / "scene.ply", "a scene"));
    ASSERT_TRUE(write_text_file(from / "capture/images/0 1.png", "a photo"));
    ASSERT_TRUE(write_text_file(from / ".used", "the lock's"));
    const BundleFacts facts{"garden", "by us", 2, 1234, true, "CPU"};
    ASSERT_TRUE(write_bundle(file_, from.path(), facts, {}));
    EXPECT_EQ(find_contents(file_).kind, PathKind::bundle);
    const auto opened = required(unpack_bundle(file_, {}));
    const UnpackedBundle& bundle = *opened;
    EXPECT_TRUE(bundle.notes.empty());
    EXPECT_EQ(bundle.facts.name, "garden");
    EXPECT_EQ(bundle.facts.sh_degree, 2);
    EXPECT_EQ(bundle.facts.step, 1234u);
    EXPECT_TRUE(bundle.facts.photos);
    EXPECT_EQ(*read_text_file(bundle.member("scene.ply")), "a scene");
    EXPECT_EQ(*read_text_file(bundle.member("capture/images/0 1.png")), "a photo");
    EXPECT_TRUE(bundle.member("notes.json").empty());
    const auto mode = fs::status(bundle.folder.path()).permissions();
    EXPECT_EQ(mode & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
}

TEST_F(BundleFile, WhatCannotBeWrittenLeavesNothing) {
    const TemporaryFolder from;
    ASSERT_TRUE(write_text_file(from / "scene.ply", "a scene"));
    const auto nowhere = write_bundle(folder_ / "no/such/a.gsb", from.path(), {}, {});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().kind, ErrorKind::unwritable);
    const auto cancelled =
        write_bundle(file_, from.path(), {}, [](auto, auto, auto) { return false; });
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
    EXPECT_FALSE(fs::exists(file_));
    if (fs::exists("/dev/full")) {  // a full disk
        const auto full = write_bundle("/dev/full/a.gsb", from.path(), {}, {});
        EXPECT_FALSE(full);
    }
}

TEST_F(BundleFile, NamesThatLeadOutAreRefused) {
    for (const char* name : {"../evil", "/tmp/evil", "a/../../evil", "a\\b", "c:evil", "", ".used",
                             "a/.b", "a//../b", "a/"}) {
        const std::string error =
            error_of({{"manifest.json", manifest({{"scene.ply", 1}, {name, 1}})},
                      {"scene.ply", "x"},
                      {name, "x"}});
        EXPECT_NE(error.find("names a file"), std::string::npos) << name << ": " << error;
    }
    const std::string twice = error_of(
        {{"manifest.json", manifest({{"scene.ply", 1}, {"scene.ply", 1}})}, {"scene.ply", "x"}});
    EXPECT_NE(twice.find("twice"), std::string::npos) << twice;
    // What the manifest does not name stays in the zip.
    ASSERT_TRUE(make_zip(
        file_,
        {{"manifest.json", manifest({{"scene.ply", 1}})}, {"scene.ply", "x"}, {"../evil", "x"}}));
    const auto opened = unpack_bundle(file_, {});
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_FALSE(fs::exists(folder_ / "evil"));
    EXPECT_FALSE(fs::exists(unpacked_into_ / "evil"));
}

TEST_F(BundleFile, SizesThatLieAreRefused) {
    const auto scene_of = [&](std::uint64_t bytes) {
        return error_of(
            {{"manifest.json", manifest({{"scene.ply", bytes}})}, {"scene.ply", "four"}});
    };
    EXPECT_EQ(scene_of(4), "");
    EXPECT_NE(scene_of(3), "");
    EXPECT_NE(scene_of(5), "");
    EXPECT_NE(scene_of(~std::uint64_t{0}), "");
    // One entry that many names share.
    std::vector<std::pair<std::string, std::uint64_t>> many{{"scene.ply", 4}};
    for (int i = 0; i < 2000; ++i) many.emplace_back("f" + std::to_string(i), 1u << 20);
    EXPECT_NE(
        error_of({{"manifest.json", manifest(many)}, {"scene.ply", "four"}}).find("more than"),
        std::string::npos);
    many.resize(1);
    for (int i = 0; i < 5000; ++i) many.emplace_back("f" + std::to_string(i), 0);
    EXPECT_NE(error_of({{"manifest.json", manifest(many)}, {"scene.ply", "four"}}).find("5001"),
              std::string::npos);
}

TEST_F(BundleFile, WhatIsMissingOrNewerIsSaidAndTheRestOpens) {
    ASSERT_TRUE(
        make_zip(file_, {{"manifest.json", manifest({{"scene.ply", 1}, {"notes.json", 9}}, 7)},
                         {"scene.ply", "x"}}));
    const auto opened = required(unpack_bundle(file_, {}));
    ASSERT_EQ(opened->notes.size(), 2u);
    EXPECT_NE(opened->notes[0].find("another version (7"), std::string::npos);
    EXPECT_NE(opened->notes[1].find("notes.json is skipped"), std::string::npos);
    for (const Members& members :
         {Members{}, Members{{"manifest.json", "{}"}}, Members{{"manifest.json", "["}},
          Members{{"manifest.json", manifest({})}},
          Members{{"manifest.json", manifest({{"scene.ply", 1}})}}})
        EXPECT_NE(error_of(members), "");
    ASSERT_TRUE(write_text_file(file_, "no zip"));
    EXPECT_FALSE(unpack_bundle(file_, {}));
    EXPECT_EQ(find_contents(folder_.path()).kind, PathKind::unknown);
}

TEST_F(BundleFile, DamageNeverLeadsElsewhere) {
    const TemporaryFolder from;
    ASSERT_TRUE(write_text_file(from / "scene.ply", "a scene"));
    ASSERT_TRUE(write_text_file(from / "notes.json", "notes"));
    ASSERT_TRUE(write_bundle(file_, from.path(), {"garden", "us", 3, 5, false, "CPU"}, {}));
    const auto good = required(read_file(file_));
    int opened = 0;
    for (std::uint64_t i = 0; i < 1500; ++i) {
        std::vector<std::byte> bytes = good;
        if (i % 5 == 0) bytes.resize(random_bits(1, i, 0) % bytes.size());
        for (std::uint64_t k = 0; k < 1 + i % 4 && !bytes.empty(); ++k)
            bytes[random_bits(2, i, k) % bytes.size()] =
                static_cast<std::byte>(random_bits(3, i, k) & 255U);
        ASSERT_TRUE(write_file(file_, bytes));
        const auto bundle = unpack_bundle(file_, {});
        if (!bundle) continue;
        ++opened;
        for (const auto& entry : fs::recursive_directory_iterator((*bundle)->folder.path()))
            EXPECT_FALSE(entry.is_symlink());
    }
    EXPECT_GT(opened, 0);
    EXPECT_LT(opened, 1500);
}

TEST_F(BundleFile, WhatAKilledProcessLeftGoes) {
    const fs::path left = unpacked_into_ / "gausscope-bundle-abcdef";
    fs::create_directories(left);
    ASSERT_TRUE(write_text_file(left / ".used", ""));
    ASSERT_TRUE(write_text_file(left / "scene.ply", "x"));
    fs::create_directories(unpacked_into_ / "gausscope-bundle-new");  // it gets its lock yet
    {
        const auto one = required(PrivateFolder::make());
        EXPECT_FALSE(fs::exists(left));
        EXPECT_TRUE(fs::exists(unpacked_into_ / "gausscope-bundle-new"));
        const auto two = PrivateFolder::make();
        ASSERT_TRUE(two);
        EXPECT_TRUE(fs::exists(one.path()));  // it is in use
    }
    fs::remove(unpacked_into_ / "gausscope-bundle-new");
}

TEST(BundleView, ComesBackAsItWas) {
    ViewSettings view{.mode = ViewMode::depth,
                      .colormap = Colormap::inferno,
                      .range_lo = 0.25,
                      .logarithmic = true,
                      .background = {0.5F, 0.25F, 1},
                      .clip = ClipBox{{-1, -2, -3}, {1, 2, 3}},
                      .overlays = false,
                      .sh_degree = 1};
    ViewSettings back;
    take_view_json(view_json(view), back);
    EXPECT_EQ(back.mode, view.mode);
    EXPECT_EQ(back.colormap, view.colormap);
    EXPECT_EQ(back.range_lo, 0.25);
    EXPECT_TRUE(back.logarithmic);
    EXPECT_EQ(back.background.x, 0.5F);
    ASSERT_TRUE(back.clip);
    EXPECT_EQ(back.clip->lo.z, -3);
    EXPECT_EQ(back.sh_degree, 1);
    EXPECT_FALSE(back.overlays);
    EXPECT_EQ(view_json(back), view_json(view));
    take_view_json(R"({"sh_degree": 99, "point_size": -4, "mode": "none", "split": "x", "clip": 3,
                       "background": [9, 0, 1e99]})",
                   back);
    EXPECT_EQ(back.sh_degree, 3);
    EXPECT_EQ(back.point_size, 1);
    EXPECT_EQ(back.mode, ViewMode::depth);
    EXPECT_EQ(back.background.x, 0.5F);
    take_view_json("nothing", back);
}

TEST(BundleCapture, IsReadWithTheSameCameras) {
    const TemporaryFolder folder;
    Capture capture;
    capture.points = {{{0.5F, -1.25F, 3}, {10, 20, 30}}};
    for (int i = 0; i < 3; ++i) {
        View view;
        view.name = "a/photo " + std::to_string(i) + ".jpg";
        view.camera = look_at({1.0 + i, 2, 3}, {0, 0.1, 0}, {0, -1, 0}, 16, 12, 0.8);
        view.camera.cx += 0.25;
        if (i == 2) {  // one with a lens and a shutter of its own
            view.camera.model = CameraModel::full_opencv;
            for (std::size_t k = 0; k < 12; ++k) view.camera.distortion[k] = 0.001 * (1.0 + k);
            view.camera.shutter = Shutter::left_to_right;
            view.camera.first = view.camera.last = {view.camera.rotation, view.camera.translation};
            view.camera.last.translation.x += 0.125;
            view.camera.first.translation.x -= 0.125;
        }
        view.photo = {16, 12, 3, std::vector<std::uint8_t>(16 * 12 * 3, std::uint8_t(40 * i))};
        view.test = i == 1;
        capture.views.push_back(std::move(view));
    }
    for (const bool photos : {true, false}) {
        const fs::path to = folder.path() / (photos ? "with" : "without");
        ASSERT_TRUE(write_capture(to, capture, photos, {}));
        const auto back = required(load_capture(to, {.photos = photos}));
        ASSERT_EQ(back.views.size(), 3u);
        ASSERT_EQ(back.points.size(), 1u);
        EXPECT_EQ(back.points[0].position.y, -1.25F);
        EXPECT_EQ(back.points[0].rgb[2], 30);
        for (std::size_t i = 0; i < 3; ++i) {
            const View &is = back.views[i], &was = capture.views[i];
            EXPECT_EQ(is.test, was.test);
            EXPECT_EQ(is.camera.fx, was.camera.fx);
            EXPECT_EQ(is.camera.cx, was.camera.cx);
            EXPECT_EQ(is.camera.model, was.camera.model);
            EXPECT_EQ(is.camera.distortion, was.camera.distortion);
            EXPECT_EQ(is.camera.shutter, was.camera.shutter);
            EXPECT_NEAR(is.camera.last.translation.x, was.camera.last.translation.x, 1e-13);
            for (int r = 0; r < 3; ++r)
                for (int c = 0; c < 3; ++c)
                    EXPECT_NEAR(is.camera.rotation.m[r][c], was.camera.rotation.m[r][c], 1e-14);
            EXPECT_NEAR(is.camera.translation.z, was.camera.translation.z, 1e-13);
            EXPECT_EQ(is.photo.bytes == was.photo.bytes, photos);
        }
    }
}

}  // namespace
}  // namespace gs
