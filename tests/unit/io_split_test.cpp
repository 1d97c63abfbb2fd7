// Test photos that a capture itself lists: found, used, reported, and overridden.
#include "renderer/io/captures/capture_io.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> test_names(const Capture& capture) {
    std::vector<std::string> out;
    for (const std::size_t i : capture.view_indices(true)) out.push_back(capture.views[i].name);
    return out;
}

std::string split_notes(const Capture& capture) {
    std::string out;
    for (const CaptureNote& note : capture.notes)
        if (note.kind == CaptureNote::Kind::split) out += note.text + "\n";
    return out;
}

/// Eight photos, v_0.png to v_7.png.
struct EightPhotos {
    TempFolder folder;
    EightPhotos() {
        ColmapFiles files;
        files.names.clear();
        for (int i = 0; i < 8; ++i) files.names.push_back(fmt::format("v_{}.png", i));
        files.write_capture(folder);
    }
    Capture load(const CaptureOptions& options = {}) const {
        auto capture = load_capture(folder.path(), options);
        EXPECT_TRUE(capture) << capture.error().text();
        return capture ? std::move(*capture) : Capture();
    }
};

TEST(Split, ListsThatCameWithPublishedCapturesAreUsed) {
    GS_NEED_DATA("bugs/t01_listed_split");
    const auto nerfstudio = required(load_capture(data_path("bugs/t01_listed_split"), {}));
    EXPECT_THAT(test_names(nerfstudio), ElementsAre("f_02.png", "f_05.png"));
    EXPECT_EQ(nerfstudio.split, "listed in transforms.json");
    EXPECT_TRUE(nerfstudio.split_is_listed);
    const auto colmap = required(load_capture(data_path("bugs/c23_listed_test_photos"), {}));
    EXPECT_THAT(test_names(colmap), ElementsAre("view_01.png", "view_04.png"));
    EXPECT_EQ(colmap.split, "listed in sparse/0/test.txt");
}

TEST(Split, TestTxtIsFoundInItsPlacesAndReadAsPeopleWriteIt) {
    for (const char* place :
         {"sparse/0/test.txt", "sparse/test.txt", "test.txt", "test_list.txt"}) {
        const EightPhotos made;
        made.folder.write(place,
                          "\xEF\xBB\xBF# held out\r\nv_1.png\r\n\r\nimages/v_4\r\n"
                          " V_6.PNG \r\nC:\\photos\\images\\v_7.JPG\r\n");
        const Capture capture = made.load();
        EXPECT_THAT(test_names(capture), ElementsAre("v_1.png", "v_4.png", "v_6.png", "v_7.png"))
            << place;
        EXPECT_EQ(capture.split, std::string("listed in ") + place);
        EXPECT_EQ(split_notes(capture), "");
        EXPECT_EQ(capture.views.size(), 8u);
    }
}

TEST(Split, NamesThatFitNoPhotoAreReported) {
    const EightPhotos made;
    made.folder.write("test.txt", "v_1.png\nv_99.png\nother/v_2.jpg\n");
    const Capture some = made.load();
    EXPECT_THAT(test_names(some), ElementsAre("v_1.png", "v_2.png"));
    EXPECT_EQ(split_notes(some), "1 name of test.txt without a photo: v_99.png\n");
    made.folder.write("test.txt", "nobody.png\n");
    const Capture none = made.load();
    EXPECT_THAT(split_notes(none), HasSubstr("test.txt lists no photo of the capture"));
    EXPECT_THAT(test_names(none), ElementsAre("v_0.png"));
    EXPECT_EQ(none.split, "1 in 8 by name");
    EXPECT_FALSE(none.split_is_listed);
}

TEST(Split, OptionsOverrideTheList) {
    const EightPhotos made;
    made.folder.write("sparse/0/test.txt", "v_1.png\n");
    CaptureOptions options{.test_every = 4};
    EXPECT_THAT(test_names(made.load(options)), ElementsAre("v_1.png"));
    options.listed_split = ListedSplit::ignored;
    EXPECT_THAT(test_names(made.load(options)), ElementsAre("v_0.png", "v_4.png"));
    options.test_views = {"v_3"};
    EXPECT_THAT(test_names(made.load(options)), ElementsAre("v_3.png"));
    // A run from before lists were read continues as it began.
    options = {};
    options.listed_split = ListedSplit::separate_files;
    EXPECT_THAT(test_names(made.load(options)), ElementsAre("v_0.png"));
}

TEST(Split, TrainingAndValidationListsCount) {
    const EightPhotos made;
    made.folder.write("train.txt", "v_0.png\nv_1.png\nv_2.png\n");
    made.folder.write("val.txt", "v_5.png\n");
    Capture capture = made.load();
    EXPECT_THAT(test_names(capture), ElementsAre("v_5.png"));
    EXPECT_EQ(capture.views.size(), 4u);
    EXPECT_THAT(joined(texts_of(capture.notes)),
                HasSubstr("4 photos are listed neither for training nor for testing"));
    // As a run keeps it, whatever becomes of the lists.
    CaptureOptions kept{.test_views = test_names(capture), .left_out = capture.left_out};
    EXPECT_EQ(kept.left_out.size(), 4u);
    made.folder.write("test.txt", "v_0.png\n");
    const Capture again = made.load(kept);
    EXPECT_THAT(test_names(again), ElementsAre("v_5.png"));
    EXPECT_EQ(again.views.size(), 4u);
    kept.test_views.push_back("gone.png");
    ASSERT_FALSE(load_capture(made.folder.path(), kept)) << "nobody has said that it was there";
    kept.test_views_of_run = true;
    const Capture without = made.load(kept);
    EXPECT_THAT(test_names(without), ElementsAre("v_5.png"));
    EXPECT_THAT(split_notes(without),
                HasSubstr("1 of the run's test photos are missing: gone.png"));
    fs::remove(made.folder / "test.txt");
    made.folder.write("test.txt", "v_6.png\nv_2.png\n");
    capture = made.load();
    EXPECT_THAT(test_names(capture), ElementsAre("v_2.png", "v_6.png"));
    EXPECT_EQ(capture.views.size(), 4u);
    EXPECT_THAT(split_notes(capture), HasSubstr("1 photos are listed for training and for"));
    fs::remove(made.folder / "test.txt");
    fs::remove(made.folder / "val.txt");
    capture = made.load();
    EXPECT_EQ(test_names(capture).size(), 5u);
}

TEST(Split, ListsInJson) {
    for (const auto& [name, text] :
         {std::pair("train_test_split.json", R"({"train": ["v_0", "v_1"], "test": ["v_2"]})"),
          std::pair("split.json", R"({"splits": {"test_ids": ["v_2.png"], "train_ids":
              ["v_0.png", "v_1.png"]}})"),
          std::pair("train_test_lists.json", R"({"train": [{"file_path": "v_0.png"},
              {"file_path": "v_1.png"}], "test": [{"file_path": "v_2.png"}]})"),
          std::pair("brandenburg.tsv",
                    "filename\tid\tsplit\tdataset\nv_0.png\t1\ttrain\tx\n"
                    "v_1.png\t2\ttrain\tx\nv_2.png\t3\ttest\tx\n"),
          std::pair("s.csv",
                    "\xEF\xBB\xBF"
                    "filename;split\r\nv_0.png;train\r\n\"v_1.png\";train\r\n"
                    "v_2.png;test\r\n"),
          std::pair("splits.json", R"({"v_0.png": "train", "v_1.png": "train",
              "v_2.png": "test"})")}) {
        const EightPhotos made;
        made.folder.write(name, text);
        const Capture capture = made.load();
        EXPECT_THAT(test_names(capture), ElementsAre("v_2.png")) << name;
        EXPECT_EQ(capture.views.size(), 3u) << name;
        EXPECT_EQ(capture.split, std::string("listed in ") + name);
    }
    const EightPhotos made;
    made.folder.write("split.json", "{\"test\": [");
    EXPECT_THAT(split_notes(made.load()), HasSubstr("cannot read"));
}

TEST(Split, WhatIsNoListOfNamesInATransformsFileIsReported) {
    const TempFolder folder;
    for (const char* name : {"a.png", "b.png", "c.png"}) put_png(folder / name, pattern(8, 8, 3));
    const auto frame = [](char name) {
        return fmt::format(
            R"({{"file_path": "{}.png", "transform_matrix": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}})",
            name);
    };
    for (const char* list : {R"("b.png")", "[1, 2]", "{}", "null"}) {
        folder.write("transforms.json",
                     fmt::format(R"({{"fl_x": 8, "w": 8, "h": 8, "frames": [{}, {}, {}],
                                     "test_filenames": {}}})",
                                 frame('a'), frame('b'), frame('c'), list));
        const auto capture = required(load_capture(folder.path(), {}));
        EXPECT_THAT(test_names(capture), ElementsAre("a.png"));
        EXPECT_EQ(
            split_notes(capture).find("test_filenames of transforms.json is not a list of names") !=
                std::string::npos,
            std::string_view(list) != "null")
            << list;
    }
}

TEST(Split, ListsOfATransformsFileCountForAModelBesideIt) {
    const EightPhotos made;
    made.folder.write("transforms.json",
                      R"({"frames": [], "train_filenames": ["images/v_0.png", "images/v_1.png"],
                          "test_filenames": ["images/v_3.png"]})");
    const Capture capture = made.load();
    EXPECT_EQ(capture.format, "COLMAP binary");
    EXPECT_THAT(test_names(capture), ElementsAre("v_3.png"));
    EXPECT_EQ(capture.views.size(), 3u);
    EXPECT_EQ(capture.split, "listed in transforms.json");
    made.folder.write("transforms.json", "{");
    EXPECT_EQ(made.load().views.size(), 8u);
}

TEST(Split, FoldersDistinguishPhotosOfOneName) {
    const TempFolder folder;
    ColmapFiles files{.names = {"left/a.png", "left/b.png", "right/a.png", "right/b.png"}};
    files.write_capture(folder);
    folder.write("test.txt", "right/a.png\n");
    EXPECT_THAT(test_names(*load_capture(folder.path(), {})), ElementsAre("right/a.png"));
    folder.write("test.txt", "/data/images/left/b.jpg\n");
    EXPECT_THAT(test_names(*load_capture(folder.path(), {})), ElementsAre("left/b.png"));
    folder.write("test.txt", "b.png\n");
    EXPECT_THAT(test_names(*load_capture(folder.path(), {})),
                ElementsAre("left/b.png", "right/b.png"));
}

TEST(Split, SeparateFilesAreKeptUnlessOptionsOverrideThem) {
    const TempFolder folder;
    for (const char* name : {"train/r_0.png", "train/r_1.png", "test/r_0.png"})
        put_png(folder / name, constant(20, 10, {0, 0, 0, 255}));
    const auto frames = [](std::initializer_list<const char*> names) {
        std::string out;
        for (const char* name : names)
            out += fmt::format("{}{{\"file_path\": \"./{}\", \"transform_matrix\": {}}}",
                               out.empty() ? "" : ", ", name, matrix_at(0, 4));
        return "{\"camera_angle_x\": 0.8, \"frames\": [" + out + "]}";
    };
    folder.write("transforms_train.json", frames({"train/r_0", "train/r_1"}));
    folder.write("transforms_test.json", frames({"test/r_0"}));
    CaptureOptions options;
    const auto kept = required(load_capture(folder.path(), options));
    EXPECT_THAT(test_names(kept), ElementsAre("test/r_0.png"));
    EXPECT_EQ(kept.split, "listed in transforms_test.json");
    options.listed_split = ListedSplit::ignored;
    options.test_every = 2;
    EXPECT_THAT(test_names(*load_capture(folder.path(), options)),
                ElementsAre("test/r_0.png", "train/r_1.png"));
}

}  // namespace
}  // namespace gs::test
