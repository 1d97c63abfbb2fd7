// Commands for files: open, close, export, screenshots, quit.
#include <array>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/exporter.h"
#include "app/session/parts/training.h"
#include "app/studio/studio.h"
#include "panels/viewport/compare.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/trace_file.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace command::files {

using namespace args;
using S = StudioState&;

constexpr int kFramesBeforePicture = 3;

Result<void> open(S state, const std::string& path, const std::optional<std::string>& capture) {
    if (!capture && is_trace_file(path))
        return ask(state, [path](Studio& s) { return s.open_trace(path); });
    return open_path(state,
                     {.contents = {.path = path}, .capture = find_capture(capture.value_or(""))});
}
Result<void> open_sample(S state) {
    return open_path(state, {.contents = {.path = state.sample_dir}, .make_sample = true});
}
Result<void> close(S state) {
    return leave_scene(state, [](Engine& e) { e.close(); });
}
Result<void> export_splats(S state, const std::string& path, bool clipped) {
    std::optional<ClipBox> crop;
    if (clipped) {
        GS_TRY(crop, clip_box(state));
    }
    return send(state, [path, crop](Engine& e) { e.part<Exporter>().splats(path, crop); });
}
void export_poses(Exporter& exporter, CameraFormat format, const std::string& folder) {
    exporter.poses(folder, format);
}
Result<void> save_trace(Studio& studio, const std::string& path) {
    GS_TRY_VOID(export_perfetto(studio.traces().shown(), path));
    studio.wrote(path);
    return {};
}
/// A run's checkpoint, else the splats as a file.
Result<void> save(S state) {
    if (!state.scene) return fail(ErrorKind::usage, "", "nothing to save: nothing is open");
    if (state.status.trains)
        return send(state, [](Engine& e) { e.part<Training>().save_checkpoint({}); });
    return ask(state, [](Studio& s) {
        s.ui().workspace().palette.show("export");
        return Result<void>();
    });
}
/// `answer`: now, save or stay.
Result<void> quit(Studio& studio, std::optional<std::size_t> answer) {
    if (!answer) return studio.quit(QuitAnswer::none);
    return studio.quit(std::array{QuitAnswer::now, QuitAnswer::save, QuitAnswer::stay}[*answer]);
}
using Size = std::optional<std::pair<std::int64_t, std::int64_t>>;
Result<void> screenshot(S state, const std::string& path, const Size& size, bool overlays) {
    PictureRequest picture{{}, path, overlays};
    int width = state.width, height = state.height;
    if (size) {
        width = static_cast<int>(size->first);
        if (overlays) width = picture_width(state.view, width);
        height = static_cast<int>(size->second);
    }
    picture.request = view_request_of(state, width, height);
    GS_TRY_VOID(send(state, [picture](Engine& e) { e.picture(picture); }));
    ++state.pictures_asked;
    return {};
}
void screenshot_window(S state, const std::string& path) {
    state.ui_actions.push_back({[path](Studio& s) -> Result<void> {
                                    GS_TRY_VOID(write_png(path, s.ui().window_picture()));
                                    s.wrote(path);
                                    return {};
                                },
                                kFramesBeforePicture});
}

// clang-format off
const CommandRow kRows[] = {
    {"open",              "Open…",                         "File 1",
     "Open a capture, a splat file, a run, a checkpoint or a trace; CAPTURE adds photos to compare "
     "with.", open, word("PATH"), optional(word("CAPTURE"))},
    {"open.sample",       "Open the sample capture",         "File 1",
     "Generate the built-in sample capture (no download) and open it.", open_sample},
    {"close",             "Close",                           "File 4",
     "Close the scene after saving unsaved training. Also cancels loading.", close},
    {"save",              "Save",                            "File 3",
     "Save what is open: a checkpoint of a training run, else the splats as a file (export).", save},
    {"export",            "Export splats…",                "File 3",
     "Write the model as a splat file that other programs read: .ply, .spz, .sog, .glb, "
     "...; clip: only Gaussians in the clip box.", export_splats, word("PATH"), or_first(choice("all|clip"))},
    {"export.poses",      "Export the camera poses",         "",
     "Write the photos' cameras with the run's current corrections and the sparse points as transforms.json or COLMAP files.",
     export_poses, choice("transforms|colmap|colmap-text", kCameraFormatNames), word("FOLDER")},
    {"screenshot",        "Save the viewport's picture…",  "File 3",
     "Writes the viewport as PNG, at any size, with or without overlays.",
     screenshot, word("PATH"), optional(both(whole("WIDTH", 1, 16384), whole("HEIGHT", 1,
     16384))), or_first(choice("plain|overlays"))},
    {"screenshot.window", "Save a picture of the window…", "File 3",
     "Writes the whole window as PNG.", screenshot_window, word("PATH")},
    {"trace.save",        "Save a trace…",                 "File 3",
     "Writes all measurements as a Perfetto trace.", save_trace, word("PATH")},
    {"quit",              "Quit",                            "File 5",
     "Save unsaved training and quit; ask first if something else would be lost. "
     "Answers: now quits without saving, save saves and quits, stay keeps running.", quit, optional(choice("now|save|stay"))},
};
// clang-format on

}  // namespace command::files

Result<void> open_path(StudioState& state, OpenRequest request) {
    if (request.contents.kind == PathKind::trace && request.capture.path.empty())
        return ask(state, [path = std::move(request.contents.path)](Studio& s) {
            return s.open_trace(path);
        });
    return leave_scene(state, [request = std::move(request)](Engine& e) { e.open(request); });
}

std::span<const CommandRow> file_commands() { return command::files::kRows; }

}  // namespace gs
