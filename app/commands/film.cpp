// Commands for the camera path and films along it.
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/film_render.h"
#include "app/studio/studio.h"
#include "base/choice.h"
#include "renderer/io/paths/path_io.h"

namespace gs {
namespace command::film {

using namespace args;
using S = StudioState&;

void undo(History& history) { history.undo({EditOf::camera_path}); }
void redo(History& history) { history.redo({EditOf::camera_path}); }

constexpr double kBetweenKeys = 2;  // seconds, where nothing else is said
constexpr double kPresetSeconds = 10;
constexpr std::size_t kMostFrames = 1'000'000;

Result<void> has_key(S state) {
    if (!state.film.film().path.keys.empty()) return {};
    return fail(ErrorKind::usage, "", "the camera path has no keys",
                "add one at the camera with film.key, or a whole path with film.preset");
}

/// The index of a key by its number, from 1.
Result<std::size_t> key_of(S state, Words& words) {
    GS_TRY_VOID(has_key(state));
    const std::size_t count = state.film.film().path.keys.size();
    GS_TRY(const auto number,
           integer_argument(words.take(), 1, static_cast<std::int64_t>(count), "KEY"));
    return static_cast<std::size_t>(number - 1);
}
Parameter<std::size_t> key_number() { return {{"KEY", 1, 1, {}, {}}, key_of}; }
/// Without a number, the selected key.
Parameter<std::size_t> some_key() {
    return {{"[KEY]", 0, 1, {}, {}}, [](S state, Words& words) -> Result<std::size_t> {
                if (words.has(1)) return key_of(state, words);
                GS_TRY_VOID(has_key(state));
                if (state.film.selected()) return *state.film.selected();
                return fail(ErrorKind::usage, "", "no key is selected",
                            fmt::format("give its number, 1 to {}, or go to it first",
                                        state.film.film().path.keys.size()));
            }};
}

/// No time: after the last key; a time without seconds: the shown one.
Result<void> key(S state, const std::optional<std::optional<double>>& time) {
    GS_TRY_VOID(need_scene(state));
    const CameraPath& path = state.film.film().path;
    double seconds =
        path.keys.empty() ? 0 : path.keys.back().time - path.keys.front().time + kBetweenKeys;
    if (time) seconds = *time ? **time : state.film.key_time_here();
    return state.film.add_key(pose_of(state.navigation), seconds);
}
Result<void> update(S state, std::size_t which) {
    return state.film.replace_pose(which, pose_of(state.navigation));
}
Result<void> go(S state, const std::string& to) {
    GS_TRY_VOID(has_key(state));
    const std::size_t count = state.film.film().path.keys.size();
    const auto now = state.film.selected();
    std::size_t which = 0;
    if (to == "next") {
        which = now ? (*now + 1) % count : 0;
    } else if (to == "previous") {
        which = now ? (*now + count - 1) % count : count - 1;
    } else {
        Words words{std::span(&to, 1)};
        GS_TRY(which, key_of(state, words));
    }
    look_from(state, state.film.select(which));
    return {};
}
Result<void> at(S state, double seconds) {
    GS_TRY_VOID(has_key(state));
    look_from(state, state.film.look_at(seconds));
    return {};
}
Result<void> play(S state, std::optional<bool> on) {
    GS_TRY_VOID(has_key(state));
    state.film.play(on.value_or(!state.film.playing()));
    return {};
}
Result<void> preset(S state, PathPreset which, double seconds) {
    GS_TRY_VOID(need_scene(state));
    const NavigationState& from = state.navigation;
    Film film = state.film.film();
    film.path = preset_path(which, place_around(pose_of(from), from.target, from.up), seconds);
    return state.film.set(std::move(film), "replace the camera path");
}
Result<void> clear(S state) {
    Film film = state.film.film();
    film.path.keys.clear();
    film.path.closed = false;
    return state.film.set(std::move(film), "clear the camera path");
}

// ---- how it goes
template <bool CameraPath::*field>
Result<void> path_switch(S state, std::optional<bool> on) {
    Film film = state.film.film();
    film.path.*field = on.value_or(!(film.path.*field));
    return state.film.set(std::move(film), "change the camera path");
}
Result<void> closed(S state, std::optional<bool> on) {
    if (state.film.film().path.keys.size() < 2)
        return fail(ErrorKind::usage, "", "a closed path needs at least two keys");
    return path_switch<&CameraPath::closed>(state, on);
}
Result<void> speed(S state, PathSpeed which) {
    Film film = state.film.film();
    film.path.speed = which;
    return state.film.set(std::move(film), "change the path's speed");
}
// ---- film settings
Result<void> size(S state, int width, int height) {
    Film film = state.film.film();
    film.width = width;
    film.height = height;
    return state.film.set(std::move(film), "change the film's size");
}
Result<void> fps(S state, double value) {
    Film film = state.film.film();
    film.fps = value;
    return state.film.set(std::move(film), "change the film's frame rate");
}
Result<void> film_lens(S state, const std::string& name) {
    Film film = state.film.film();
    const auto lens = viewer_lens_named(name);
    if (!lens || lens->orthographic())
        return fail(ErrorKind::usage, "", fmt::format("there is no film lens \"{}\"", name),
                    "pinhole, fisheye:DEGREES (10 to 360, across the height) or equirectangular");
    film.lens = *lens;
    return state.film.set(std::move(film), "change the film's lens");
}
void codec(S state, std::size_t which) { state.film.codec = kVideoCodecNames[which]; }
Result<void> open(S state, const std::string& file_path) {
    GS_TRY_VOID(need_scene(state));
    GS_TRY(PathFile file, read_path_file(file_path, state.film.origin()));
    GS_TRY_VOID(state.film.set(std::move(file.film), "open a camera path"));
    state.add_notice(
        false,
        fmt::format("{}: {} keys, {:.1f} s", file_path, state.film.film().path.keys.size(),
                    state.film.film().path.seconds()),
        std::move(file.notes));
    return {};
}
Result<void> save(S state, const std::string& path, bool theirs) {
    GS_TRY_VOID(has_key(state));
    const Film& film = state.film.film();
    GS_TRY_VOID(theirs ? write_nerfstudio_path(path, film, state.film.origin())
                       : write_path_file(path, film, state.film.origin()));
    return ask(state, [path](Studio& studio) {
        studio.wrote(path);
        return Result<void>();
    });
}
Result<void> render(S state, const std::string& path) {
    GS_TRY_VOID(need_scene(state));
    GS_TRY_VOID(has_key(state));
    const Film& film = state.film.film();
    const std::size_t count = pictures_of(film.path, film.fps);
    if (count > kMostFrames)
        return fail(ErrorKind::usage, path, fmt::format("{} frames are too many", count),
                    "reduce film.fps or shorten the path");
    FilmRequest request{path,
                        poses_along(film.path, count),
                        film.width,
                        film.height,
                        film.fps,
                        *choice_named<VideoCodec>(kVideoCodecNames, state.film.codec),
                        state.film.quality,
                        film.lens,
                        state.view};
    return send(state,
                [request = std::move(request)](Engine& e) { e.part<FilmRender>().start(request); });
}

// clang-format off
const CommandRow kRows[] = {
    {"film.key",     "Add a key to the camera path", "View/Camera path 5",
     "Add the current camera 2 s after the last key, at SECONDS, or at the shown time (here).",
     key, optional(either(number("SECONDS", 0, kLongestPath), "here"))},
    {"film.update",  "Set the key to this camera",   "View/Camera path 5",
     "Set the selected key, or key KEY, to the current camera.", update, some_key()},
    {"film.delete",  "Delete the key",               "View/Camera path 5",
     "Delete the selected key, or key KEY, from the camera path.", &FilmEditor::remove_key, some_key()},
    {"film.move",    "Move a key in time",           "",
     "Set the key's time, from the start of the path.",
     &FilmEditor::move_key, key_number(), number("SECONDS", 0, kLongestPath)},
    {"film.go",      "Go to a key",                  "",
     "Go to the camera of this key, or of the next or previous one.", go, word("KEY|next|previous")},
    {"film.undo",    "Undo on the camera path",   "View/Camera path 5",
     "Undo the last change of the camera path.", undo},
    {"film.redo",    "Redo on the camera path",   "View/Camera path 5",
     "Redo the last undone change of the camera path.", redo},
    {"film.clear",   "Clear the camera path",        "View/Camera path 5",
     "Delete all keys; undo restores them.", clear},
    {"film.play",    "Play the camera path",         "View/Camera path 5",
     "Move the camera along the path from the shown time; steering stops it.", play, toggle()},
    {"film.at",      "Look from the path",           "",
     "Go to the camera of the path at SECONDS.", at, number("SECONDS", 0, kLongestPath)},
    {"film.show",    "Path in the viewport",         "View/Camera path 5",
     "Draw the camera path with its keys over the picture.", &FilmEditor::shown, toggle()},
    {"film.preset",  "Camera path around the target", "View/Camera path 5",
     "orbit, spiral or dolly from the current camera, lasting SECONDS (10).",
     preset, choice("NAME", kPathPresetNames), optional(number("SECONDS", 0.1, kLongestPath), kPresetSeconds)},
    {"film.closed",  "Close the path",               "",
     "Continue from the last key back to the first.", closed, toggle()},
    {"film.ease",    "Ease in and out",              "",
     "Start and stop gently.", path_switch<&CameraPath::ease>, toggle()},
    {"film.speed",   "Speed along the path",         "",
     "even: constant speed; keys: reach each key at its time.", speed, choice("even|keys", kPathSpeedNames)},
    {"film.seconds", "Duration of the path",         "",
     "Scale the times of all keys to this duration.",
     &FilmEditor::set_seconds, when(has_key, number("SECONDS", 0.1, kLongestPath))},
    {"film.size",    "Size of the film",             "",
     "Pixels, 16 to 16384 each.", size, whole("WIDTH", 16, 16384), whole("HEIGHT", 16, 16384)},
    {"film.fps",     "Frames per second",            "",
     "Of the film, 0.1 to 240.", fps, number("NUMBER", 0.1, 240)},
    {"film.lens",    "Lens of the film",             "",
     "pinhole, fisheye:DEGREES or equirectangular, for the whole film.", film_lens, word("NAME")},
    {"film.codec",   "Codec of films",               "",
     "h264 plays everywhere; av1 files are about half the size.", codec, choice("h264|av1", kVideoCodecNames)},
    {"film.quality", "Quality of films",             "",
     "1 to 100; 75 is visually close to lossless.", &FilmEditor::quality, whole("NUMBER", 1, 100)},
    {"film.open",    "Open a camera path…",        "View/Camera path 5",
     "Replace the path with one from a gausscope or nerfstudio file.", open, word("PATH")},
    {"film.save",    "Save the camera path…",      "View/Camera path 5",
     "Write it as gausscope JSON, or as nerfstudio's camera_path.json.", save, word("PATH"), flag("nerfstudio")},
    {"film.render",  "Film along the path…",       "View/Camera path 5",
     "Render every frame of the path, as the viewport shows the scene, into a video (.mp4, .mkv) or a "
     "folder of PNG files.", render, word("PATH")},
};
// clang-format on

}  // namespace command::film

std::span<const CommandRow> film_commands() { return command::film::kRows; }

}  // namespace gs
