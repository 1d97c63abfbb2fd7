// Commands for files: open, close, export, screenshots, quit.
#include <array>
#include <cctype>

#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/exporter.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"
#include "panels/viewport/compare.h"
#include "profiler/files/trace_file.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::array<const char*, 2> kPictureKinds{"plain", "overlays"};
constexpr int kFramesBeforePicture = 3;

Result<void> send_open(S state, OpenRequest request) {
    return leave_scene(state, [request = std::move(request)](Engine& e) { e.open(request); });
}
Result<void> open(S state, A a) {
    if (a.size() == 1 && is_trace_file(a[0]))
        return ask(state, [path = a[0]](Studio& s) { return s.open_trace(path); });
    OpenRequest request{a[0]};
    if (a.size() > 1) request.capture = a[1];
    return send_open(state, std::move(request));
}
Result<void> open_sample(S state, A) {
    OpenRequest request{state.sample_dir};
    request.make_sample = true;
    return send_open(state, std::move(request));
}
Result<void> close(S state, A) {
    return leave_scene(state, [](Engine& e) { e.close(); });
}
Result<void> export_splats(S state, A a) {
    std::optional<ClipBox> crop;
    if (a.size() > 1) {
        constexpr std::array kParts{"all", "clip"};
        GS_TRY(const std::size_t part, choice_argument(a[1], kParts));
        if (part == 1) crop = state.view.clip;
        if (part == 1 && !crop)
            return fail(ErrorKind::usage, "", "there is no clip box to export",
                        "make one with view.clip X0 Y0 Z0 X1 Y1 Z1 or view.clip.fit");
    }
    return send(state, [path = a[0], crop](Engine& e) { e.part<Exporter>().splats(path, crop); });
}
Result<void> export_poses(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kCameraFormatNames));
    return send(state, [folder = a[1], format = static_cast<CameraFormat>(which)](Engine& e) {
        e.part<Exporter>().poses(folder, format);
    });
}
Result<void> save_trace(S state, A a) {
    return ask(state, [path = a[0]](Studio& s) { return s.save_trace(path); });
}
Result<void> quit(S state, A a) {
    constexpr std::array kAnswers{"now", "stay"};
    QuitAnswer answer = QuitAnswer::none;
    if (!a.empty()) {
        GS_TRY(const std::size_t chosen, choice_argument(a[0], kAnswers));
        answer = chosen == 0 ? QuitAnswer::now : QuitAnswer::stay;
    }
    return ask(state, [answer](Studio& s) { return s.quit(answer); });
}

Result<void> screenshot(S state, A a) {
    PictureRequest picture{{}, a[0], false};
    std::vector<std::string> size(a.begin() + 1, a.end());
    if (!size.empty() && !std::isdigit(static_cast<unsigned char>(size.back().front()))) {
        GS_TRY(const std::size_t kind, choice_argument(size.back(), kPictureKinds));
        picture.overlays = kind == 1;
        size.pop_back();
    }
    if (size.size() == 1)
        return fail(ErrorKind::usage, "", "a size needs two numbers: WIDTH HEIGHT");
    int width = state.width, height = state.height;
    if (size.size() == 2) {
        GS_TRY(const auto w, integer_argument(size[0], 1, 16384, "the width"));
        GS_TRY(const auto h, integer_argument(size[1], 1, 16384, "the height"));
        width =
            picture.overlays ? picture_width(state.view, static_cast<int>(w)) : static_cast<int>(w);
        height = static_cast<int>(h);
    }
    picture.request = view_request_of(state, width, height);
    GS_TRY_VOID(send(state, [picture](Engine& e) { e.picture(picture); }));
    ++state.pictures_asked;
    return {};
}
Result<void> screenshot_window(S state, A a) {
    state.ui_actions.push_back(
        {[path = a[0]](Studio& s) { return s.window_picture(path); }, kFramesBeforePicture});
    return {};
}

// clang-format off
const CommandRow kRows[] = {
    {"open",              "Open...",                         "File 1", "Ctrl+O",
     "PATH [CAPTURE]",
     "Open a capture, a splat file, a run, a checkpoint or a trace; CAPTURE adds photos to compare "
     "with.", open},
    {"open.sample",       "Open the sample capture",         "File 1", "",             "",
     "Generate the built-in sample capture (no download) and open it.", open_sample},
    {"close",             "Close",                           "File 4", "Ctrl+W",       "",
     "Close the scene after saving unsaved training. Also cancels loading.", close},
    {"export",            "Export splats...",                "File 3", "Ctrl+E",       "PATH [all|clip]",
     "Write the model as a splat file that other programs read: .ply, .spz, .sog, .glb, "
     "...; clip: only Gaussians in the clip box.", export_splats},
    {"export.poses",      "Export the camera poses",         "",       "",
     "transforms|colmap|colmap-text FOLDER",
     "Write the photos' cameras with the run's current corrections and the sparse points as transforms.json or COLMAP files.", export_poses},
    {"screenshot",        "Save the viewport's picture...",  "File 3", "F12",
     "PATH [WIDTH HEIGHT] [plain|overlays]",
     "Writes the viewport as PNG, at any size, with or without overlays.", screenshot},
    {"screenshot.window", "Save a picture of the window...", "File 3", "Shift+F12",    "PATH",
     "Writes the whole window as PNG.", screenshot_window},
    {"trace.save",        "Save the timeline...",            "File 3", "Ctrl+Shift+T", "PATH",
     "Writes all measurements as a Perfetto trace.", save_trace},
    {"quit",              "Quit",                            "File 5", "Ctrl+Q",       "[now|stay]",
     "Save unsaved training and quit; ask first if something else would be lost. "
     "now: quit without asking. stay: keep running, as the answer.", quit},
};
// clang-format on

}  // namespace

std::span<const CommandRow> file_commands() { return kRows; }

}  // namespace gs
