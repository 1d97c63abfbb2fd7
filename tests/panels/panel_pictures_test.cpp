// Every panel drawn in software from made-up data, compared with its stored picture. Panels come
// from the workspace's own table: each new panel also needs a picture.
//     GAUSSCOPE_STORE_PICTURES=1 build/tests/test_panel_pictures      stores what is drawn now
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "panels/log_panel.h"
#include "panels/scene/pixel_panel.h"
#include "panels/state/photo_looks.h"
#include "panels/trace/compare_panel.h"
#include "panels/trace/stages_panel.h"
#include "panels/training/lab_panel.h"
#include "panels/training/training_panel.h"
#include "panels/workspace.h"
#include "renderer/io/images/image_io.h"
#include "tests/panels/fake_drive.h"
#include "tests/panels/fake_pictures.h"
#include "tests/panels/fake_prediction.h"
#include "tests/panels/software_canvas.h"
#include "tests/panels/stored_pictures.h"
#include "tests/panels/trace_fixture.h"

namespace gs::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'763'730'000;  // seconds since 1970; of made-up lines and files

/// Files of fixed names, sizes and dates, in a folder of a fixed name: the panel shows it.
const fs::path kMadeUpFolder = "/tmp/gausscope-panel-pictures";
fs::path made_up_folder() {
    const fs::path& folder = kMadeUpFolder;
    fs::remove_all(folder);
    fs::create_directories(folder / "captures");
    fs::create_directories(folder / "runs");
    int day = 0;
    for (const auto& [name, bytes] : std::initializer_list<std::pair<const char*, int>>{
             {"garden.spz", 123456}, {"garden.ply", 9'876'543}, {"before.pftrace", 4096}}) {
        std::ofstream(folder / name) << '.';
        fs::resize_file(folder / name, static_cast<std::uintmax_t>(bytes));
        const timespec when{kNow - 86'400 * ++day, 0};
        const timespec times[2] = {when, when};
        ::utimensat(AT_FDCWD, (folder / name).c_str(), times, 0);
    }
    for (const char* name : {"captures", "runs"}) {
        const timespec times[2] = {{kNow, 0}, {kNow, 0}};
        ::utimensat(AT_FDCWD, (folder / name).c_str(), times, 0);
    }
    return folder;
}

FileTypes made_up_types() {
    FileTypes types;
    types.kind_of = [](const std::string& path) {
        return path.ends_with(".pftrace")                               ? FileKind::trace
               : path.ends_with("garden.ply") || path.ends_with(".spz") ? FileKind::splats
                                                                        : FileKind::other;
    };
    types.thumbnails_of = [](const std::string& path) {
        std::vector<std::string> out;
        for (const char* name : {"last", "photo-1", "photo-2"})
            if (path.starts_with("/data/runs/")) out.push_back(path + "/" + name + ".jpg");
        return out;
    };
    types.summary_of = [](const std::string& path) -> std::string {
        return path.starts_with("/data/runs/") ? "21 Nov 2026 13:05, 7,000 steps, 25.8 dB"
                                               : "20 Nov 2026 09:12";
    };
    return types;
}

/// As wide as its region usually is.
ImVec2 size_of(const PanelRow& row) {
    switch (row.home) {
        case Region::left:
        case Region::left_lower:
            return {260, 400};
        case Region::right:
        case Region::right_lower:
            return {340, 400};
        case Region::bottom:
            return {720, 240};
        case Region::bottom_right:
            return {420, 260};
        case Region::hidden:
            return {480, 260};
        default:
            return {600, 340};
    }
}

class Pictures : public Traces {
  protected:
    void SetUp() override {
        if (const std::string why = why_no_pictures(); !why.empty()) GTEST_SKIP() << why;
        setenv("TZ", "UTC", 1);
        setenv("HOME", "/tmp", 1);
        tzset();
        fs::current_path(made_up_folder());
        // Tiles of one colour each: they lie well in a PNG.
        snapshot = fake_snapshot(own, ViewMode::isects);
        add_traces();
        snapshot.frame_texture = 1;
        snapshot.pictures = &pictures;
        snapshot.file_types = std::make_shared<FileTypes>(made_up_types());
        snapshot.notices.clear();
    }
    /// Left there it would be in the way of another user's.
    void TearDown() override {
        fs::current_path("/");
        fs::remove_all(kMadeUpFolder);
    }
    void make_ui(float width, float height, double scale = 1) {
        ui.restart(width, height, scale);
        workspace.emplace();
        workspace->reset_layout();
        workspace->trace_view.find = "gsplat";
        auto& compare = workspace->panel<ComparePanel>();
        compare.sides = {{{2, 0, {}}, {3, 0, {}}}};
        compare.compare_now();
        auto& log = workspace->panel<LogPanel>();
        log.refresh();
        log.lines.clear();
        for (int i = 0; i < 8; ++i)
            log.lines.push_back({0, (kNow + 7 * i) * 1000 + 41 * i,
                                 i == 5 ? LogLevel::warning : LogLevel::info,
                                 i == 5 ? "images/frame_00101.jpg: truncated JPEG at byte 40960"
                                        : "step " + std::to_string(1000 * i) + ": loss 0.04"});
    }
    /// Frames until nothing is worked out any more; then what they show.
    Image8 settled(const std::function<void()>& draw) {
        for (int i = 0; i < 4; ++i) ui.frame(draw);
        for (int i = 0; i < 4000 && workspace->busy(); ++i) {
            ui.frame(draw);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        for (int i = 0; i < 4; ++i) ui.frame(draw);
        pictures.textures[1] = snapshot.frame->rgba;
        return drawn_in_software(*ImGui::GetDrawData(), pictures.textures);
    }
    Image8 picture_of(const char* name) {
        return settled([&] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
            ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
            workspace->draw_panel(name, snapshot, commands);
            ImGui::End();
        });
    }
    Image8 whole_picture() {
        return settled([&] { workspace->draw(snapshot, commands); });
    }

    std::optional<Workspace> workspace;
    FakePictures pictures;
};

std::string file_name_of(std::string name) {
    for (char& c : name) c = c == ' ' ? '_' : static_cast<char>(std::tolower(c));
    return name;
}

TEST_F(Pictures, EveryPanelLooksAsStored) {
    for (const PanelRow& row : panel_rows()) {
        const ImVec2 size = size_of(row);
        make_ui(size.x, size.y);
        // A file's trace is shown by those that look at traces; costs are of our own.
        const bool own_shown =
            row.name == std::string("Stages") || row.name == std::string("Memory");
        snapshot.shown_trace = own_shown ? 1 : 2;
        expect_as_stored(file_name_of(row.name), picture_of(row.name));
    }
}

TEST_F(Pictures, AnEmptyStudioLooksAsStored) {
    make_ui(600, 340);
    Snapshot nothing;
    nothing.recent = snapshot.recent;
    nothing.pictures = snapshot.pictures;
    nothing.file_types = snapshot.file_types;
    nothing.frame = snapshot.frame;
    snapshot = nothing;
    expect_as_stored("welcome", picture_of("Viewport"));
}

TEST_F(Pictures, WhatTheCameraCutsAwayLooksAsStored) {
    make_ui(600, 340);
    ViewFrame frame = *snapshot.frame;
    frame.mode = ViewMode::color;
    frame.map = {};
    frame.camera.model = CameraModel::orthographic;
    frame.camera.fx = frame.camera.fy = 90;
    frame.clip = ClipBox{{-2, -1.2F, -1.5F}, {1.5F, 0.6F, 2}};
    frame.cut_before = 1.25;
    snapshot.frame = std::make_shared<ViewFrame>(frame);
    snapshot.camera = frame.camera;
    snapshot.view.mode = ViewMode::color;
    snapshot.view.clip = frame.clip;
    snapshot.view.near_plane = frame.cut_before;
    snapshot.view.grid = true;
    snapshot.marked.reset();
    expect_as_stored("viewport_cut", picture_of("Viewport"));
}

/// How many Gaussians there are and how many are drawn, wherever counts are; colours of levels.
TEST_F(Pictures, LevelsOfDetailLookAsStored) {
    LevelsState levels{
        .levels = {{6, 41'200, 1'840'000}, {18, 90'310, 402'000}, {40, 86'704, 100'511}},
        .drawn = 218'214,
        .pixels = 3.4,
        .bytes = 61'000'000};
    snapshot.levels = std::make_shared<const LevelsState>(levels);
    snapshot.view.level_colors = true;
    snapshot.view.mode = ViewMode::color;
    ViewFrame frame = *snapshot.frame;
    frame.mode = ViewMode::color;
    frame.map = {};
    frame.unit.clear();
    snapshot.frame = std::make_shared<const ViewFrame>(frame);
    make_ui(600, 340);
    expect_as_stored("level_colors", picture_of("Viewport"));
    make_ui(260, 500);
    expect_as_stored("scene_levels", picture_of("Scene"));
}

/// Arrows at the cameras, and the table of what was corrected.
TEST_F(Pictures, CorrectedPosesLookAsStored) {
    std::vector<CameraRow> rows = *snapshot.cameras;
    auto looks = std::make_shared<PhotoLooks>();
    for (CameraRow& row : rows) {
        if (row.test) continue;
        const Camera given = row.camera;
        const double x = static_cast<double>(row.view % 5) - 2,
                     y = static_cast<double>(row.view % 3) - 1;
        row.camera =
            look_at(row.camera.position() + Vec3d{0.006 * x, 0.004 * y, 0.003 * x * y},
                    {0.01 * y, 0.008 * x, 0}, {0, -1, 0}, row.camera.width, row.camera.height, 0.8);
        looks->poses.push_back(pose_change(row.view, given, row.camera));
    }
    snapshot.looks = looks;
    snapshot.cameras = std::make_shared<const std::vector<CameraRow>>(rows);
    make_ui(600, 340);
    expect_as_stored("viewport_poses", picture_of("Viewport"));
    make_ui(340, 300);
    expect_as_stored("cameras_poses", picture_of("Cameras"));
}

/// A lidar's sweep over the picture, and its panel where it is narrow, of a drive without a model.
TEST_F(Pictures, ASweepLooksAsStored) {
    DriveState drive = fake_drive(SweepChannel::height);
    drive.in_picture = true;
    const auto show = [&](const DriveState& one) {
        snapshot.drive = std::make_shared<const DriveState>(one);
    };
    show(drive);
    ViewFrame frame = *snapshot.frame;
    frame.mode = ViewMode::color;
    frame.map = {};
    frame.unit.clear();
    frame.camera =
        look_at({7, -9, -16}, {2, 0, 8}, {0, -1, 0}, frame.camera.width, frame.camera.height, 0.8);
    snapshot.frame = std::make_shared<const ViewFrame>(frame);
    snapshot.camera = frame.camera;
    snapshot.view.mode = ViewMode::color;
    snapshot.view.frusta_size = 3;
    snapshot.marked.reset();
    snapshot.measured.reset();
    make_ui(600, 340);
    expect_as_stored("viewport_sweep", picture_of("Viewport"));
    make_ui(1100, 260);
    expect_as_stored("drive_wide", picture_of("Drive"));
    DriveState bare = fake_drive(SweepChannel::time, false);
    bare.posed = false;
    bare.way.clear();
    show(bare);
    make_ui(300, 640);
    expect_as_stored("drive_narrow", picture_of("Drive"));
}

TEST_F(Pictures, ASelectionInTheTimelineLooksAsStored) {
    make_ui(760, 340);
    const std::int64_t middle = trainer.begin_ns() + (trainer.end_ns() - trainer.begin_ns()) / 2;
    workspace->trace_view.selection = TimeRange{middle, middle + 6'000'000};
    workspace->trace_view.jump = TracePlace{{middle - 4'000'000, middle + 9'000'000}};
    expect_as_stored("timeline_selection", picture_of("Timeline"));
}

TEST_F(Pictures, TheMemoryOfATraceLooksAsStored) {
    make_ui(340, 300);
    snapshot.shown_trace = 2;
    expect_as_stored("memory_trace", picture_of("Memory"));
}

TEST_F(Pictures, WhatRunsGaveLooksAsStored) {
    make_ui(720, 240);
    workspace->panel<LabPanel>().comparison = true;
    expect_as_stored("lab_comparison", picture_of("Lab"));
    make_ui(340, 480);
    workspace->panel<TrainingPanel>().raise = "Growth";
    expect_as_stored("training_growth", picture_of("Training"));
}

TEST_F(Pictures, AnInspectedPixelLooksAsStored) {
    PixelInspection inspection = *snapshot.inspection;
    PixelAnswer answer = *inspection.pixel;
    answer.camera = snapshot.frame->camera.scaled_to(1296, 968);
    inspection.marked = answer.report.entries[2].row;
    inspection.pixel = std::make_shared<const PixelAnswer>(answer);
    snapshot.inspection = std::make_shared<const PixelInspection>(inspection);
    make_ui(340, 1000);
    workspace->panel<PixelPanel>().with_left_out = true;
    expect_as_stored("pixel_tile", picture_of("Pixel"));
    make_ui(600, 340);
    expect_as_stored("viewport_pixel", picture_of("Viewport"));
}

TEST_F(Pictures, AGpuLooksAsStored) {
    put_on_gpu(snapshot);
    TraceStore run;
    fill_store(run, 20, 5'000'000'000'000, true);
    snapshot.traces[0].store = snapshot.trace = &run;
    snapshot.shown_trace = 1;
    for (const bool limits : {false, true}) {
        make_ui(340, 400);
        if (limits) workspace->panel<StagesPanel>().view = StagesPanel::View::limits;
        expect_as_stored(limits ? "stages_limits" : "stages_gpu", picture_of("Stages"));
    }
    make_ui(340, 300);
    expect_as_stored("memory_gpu", picture_of("Memory"));
    make_ui(420, 420);
    snapshot.prediction = fake_prediction(snapshot.frame->camera);
    expect_as_stored("stages_other_gpus", picture_of("Stages"));
}

// The viewport has a picture of its own.
TEST_F(Pictures, TheWholeWindowLooksAsStored) {
    snapshot.shown_trace = 1;
    snapshot.frame_texture = 0;
    make_ui(1024, 700);
    expect_as_stored("studio", whole_picture());
}

TEST_F(Pictures, ThePaletteLooksAsStored) {
    make_ui(560, 360);
    workspace->palette.show();
    expect_as_stored("palette", settled([&] { workspace->palette.draw(commands); }));
}

TEST_F(Pictures, TheImportDialogLooksAsStored) {
    put_import(snapshot);
    make_ui(700, 620);
    expect_as_stored("import", settled([&] {
                         workspace->import_dialog.draw(snapshot, commands, workspace->file_dialog);
                     }));
}

TEST_F(Pictures, TheWholeWindowAtTwiceTheScaleLooksAsStored) {
    snapshot.shown_trace = 1;
    snapshot.frame_texture = 0;
    make_ui(2048, 1400, 2);
    // Shrunk: what would overlap or be cut shows all the same.
    expect_as_stored("studio_2x", shrink(whole_picture(), 4));
}

}  // namespace
}  // namespace gs::test
