// Commands for the camera path and films along it.
#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/film_render.h"
#include "app/studio/studio.h"
#include "renderer/io/paths/path_io.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr double kBetweenKeys = 2;  // seconds, where nothing else is said
constexpr double kPresetSeconds = 10;
constexpr std::size_t kMostFrames = 1'000'000;

Result<void> is_open(S state) {
    if (state.scene) return {};
    return fail(ErrorKind::usage, "", "no scene is open");
}
Result<void> has_key(S state) {
    if (!state.film.film().path.keys.empty()) return {};
    return fail(ErrorKind::usage, "", "the camera path has no keys",
                "add one at the camera with film.key, or a whole path with film.preset");
}

/// The key by its number, from 1; without one, the selected key.
Result<std::size_t> key_argument(S state, A a) {
    GS_TRY_VOID(has_key(state));
    const std::size_t count = state.film.film().path.keys.size();
    if (a.empty()) {
        if (state.film.selected()) return *state.film.selected();
        return fail(ErrorKind::usage, "", "no key is selected",
                    fmt::format("give its number, 1 to {}, or go to it first", count));
    }
    GS_TRY(const auto number,
           integer_argument(a[0], 1, static_cast<std::int64_t>(count), "the key"));
    return static_cast<std::size_t>(number - 1);
}

Result<void> key(S state, A a) {
    GS_TRY_VOID(is_open(state));
    const CameraPath& path = state.film.film().path;
    double seconds =
        path.keys.empty() ? 0 : path.keys.back().time - path.keys.front().time + kBetweenKeys;
    if (!a.empty() && a[0] == "here") {
        seconds = state.film.key_time_here();
    } else if (!a.empty()) {
        GS_TRY(seconds, number_argument(a[0], 0, kLongestPath, "the time"));
    }
    return state.film.add_key(pose_of(state.navigation), seconds);
}
Result<void> update(S state, A a) {
    GS_TRY(const std::size_t which, key_argument(state, a));
    return state.film.replace_pose(which, pose_of(state.navigation));
}
Result<void> remove(S state, A a) {
    GS_TRY(const std::size_t which, key_argument(state, a));
    return state.film.remove_key(which);
}
Result<void> move(S state, A a) {
    GS_TRY(const std::size_t which, key_argument(state, a));
    GS_TRY(const double seconds, number_argument(a[1], 0, kLongestPath, "the time"));
    return state.film.move_key(which, seconds);
}
Result<void> go(S state, A a) {
    GS_TRY_VOID(has_key(state));
    const std::size_t count = state.film.film().path.keys.size();
    const auto now = state.film.selected();
    std::size_t which = 0;
    if (a[0] == "next")
        which = now ? (*now + 1) % count : 0;
    else if (a[0] == "previous")
        which = now ? (*now + count - 1) % count : count - 1;
    else {
        GS_TRY(which, key_argument(state, a));
    }
    look_from(state, state.film.select(which));
    return {};
}
Result<void> at(S state, A a) {
    GS_TRY_VOID(has_key(state));
    GS_TRY(const double seconds, number_argument(a[0], 0, kLongestPath, "the time"));
    look_from(state, state.film.look_at(seconds));
    return {};
}
Result<void> play(S state, A a) {
    GS_TRY_VOID(has_key(state));
    bool on = !state.film.playing();
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    state.film.play(on);
    return {};
}

Result<void> preset(S state, A a) {
    GS_TRY_VOID(is_open(state));
    GS_TRY(const std::size_t which, choice_argument(a[0], kPathPresetNames));
    double seconds = kPresetSeconds;
    if (a.size() > 1) {
        GS_TRY(seconds, number_argument(a[1], 0.1, kLongestPath, "the duration"));
    }
    const NavigationState& from = state.navigation;
    Film film = state.film.film();
    film.path = preset_path(static_cast<PathPreset>(which),
                            place_around(pose_of(from), from.target, from.up), seconds);
    return state.film.set(std::move(film));
}
Result<void> clear(S state, A) {
    Film film = state.film.film();
    film.path.keys.clear();
    film.path.closed = false;
    return state.film.set(std::move(film));
}
Result<void> take_back(S state, A) { return state.film.undo(); }
Result<void> make_again(S state, A) { return state.film.redo(); }

// ---- how it goes
template <bool CameraPath::*field>
Result<void> path_switch(S state, A a) {
    Film film = state.film.film();
    bool on = !(film.path.*field);
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    film.path.*field = on;
    return state.film.set(std::move(film));
}
Result<void> closed(S state, A a) {
    if (state.film.film().path.keys.size() < 2)
        return fail(ErrorKind::usage, "", "a closed path needs at least two keys");
    return path_switch<&CameraPath::closed>(state, a);
}
Result<void> speed(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kPathSpeedNames));
    Film film = state.film.film();
    film.path.speed = static_cast<PathSpeed>(which);
    return state.film.set(std::move(film));
}
Result<void> seconds(S state, A a) {
    GS_TRY_VOID(has_key(state));
    GS_TRY(const double value, number_argument(a[0], 0.1, kLongestPath, "the duration"));
    return state.film.set_seconds(value);
}
Result<void> show(S state, A a) {
    state.film.shown = !state.film.shown;
    if (!a.empty()) {
        GS_TRY(state.film.shown, switch_argument(a[0]));
    }
    return {};
}

// ---- film settings
Result<void> size(S state, A a) {
    Film film = state.film.film();
    GS_TRY(const auto width, integer_argument(a[0], 16, 16384, "the width"));
    GS_TRY(const auto height, integer_argument(a[1], 16, 16384, "the height"));
    film.width = static_cast<int>(width);
    film.height = static_cast<int>(height);
    return state.film.set(std::move(film));
}
Result<void> fps(S state, A a) {
    Film film = state.film.film();
    GS_TRY(film.fps, number_argument(a[0], 0.1, 240, "the frames per second"));
    return state.film.set(std::move(film));
}
Result<void> film_lens(S state, A a) {
    Film film = state.film.film();
    const auto lens = viewer_lens_named(a[0]);
    if (!lens || lens->orthographic())
        return fail(ErrorKind::usage, "", fmt::format("there is no film lens \"{}\"", a[0]),
                    "pinhole, fisheye:DEGREES (10 to 360, across the height) or equirectangular");
    film.lens = *lens;
    return state.film.set(std::move(film));
}
Result<void> codec(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kVideoCodecNames));
    state.film.codec = kVideoCodecNames[which];
    return {};
}
Result<void> quality(S state, A a) {
    GS_TRY(const auto value, integer_argument(a[0], 1, 100, "the quality"));
    state.film.quality = static_cast<int>(value);
    return {};
}

Result<void> open(S state, A a) {
    GS_TRY_VOID(is_open(state));
    GS_TRY(PathFile file, read_path_file(a[0], state.film.origin()));
    GS_TRY_VOID(state.film.set(std::move(file.film)));
    state.add_notice(false,
                     fmt::format("{}: {} keys, {:.1f} s", a[0], state.film.film().path.keys.size(),
                                 state.film.film().path.seconds()),
                     std::move(file.notes));
    return {};
}
Result<void> save(S state, A a) {
    GS_TRY_VOID(has_key(state));
    const bool theirs = a.size() > 1 && a[1] == "nerfstudio";
    if (a.size() > 1 && !theirs)
        return fail(ErrorKind::usage, "", fmt::format("unknown path format \"{}\"", a[1]),
                    "give nerfstudio, or nothing for gausscope's format");
    const Film& film = state.film.film();
    GS_TRY_VOID(theirs ? write_nerfstudio_path(a[0], film, state.film.origin())
                       : write_path_file(a[0], film, state.film.origin()));
    return ask(state, [path = a[0]](Studio& studio) {
        studio.wrote(path);
        return Result<void>();
    });
}
Result<void> render(S state, A a) {
    GS_TRY_VOID(is_open(state));
    GS_TRY_VOID(has_key(state));
    const Film& film = state.film.film();
    const std::size_t count = pictures_of(film.path, film.fps);
    if (count > kMostFrames)
        return fail(ErrorKind::usage, a[0], fmt::format("{} frames are too many", count),
                    "reduce film.fps or shorten the path");
    GS_TRY(const std::size_t codec_index, choice_argument(state.film.codec, kVideoCodecNames));
    FilmRequest request{
        a[0],      poses_along(film.path, count),        film.width,         film.height,
        film.fps,  static_cast<VideoCodec>(codec_index), state.film.quality, film.lens,
        state.view};
    return send(state,
                [request = std::move(request)](Engine& e) { e.part<FilmRender>().start(request); });
}

// clang-format off
const CommandRow kRows[] = {
    {"film.key",     "Add a key to the camera path", "View/Camera path 5", "K", "[SECONDS|here]",
     "Add the current camera 2 s after the last key, at SECONDS, or at the shown time (here).", key},
    {"film.update",  "Set the key to this camera",   "View/Camera path 5", "Shift+K", "[KEY]",
     "Set the selected key, or key KEY, to the current camera.", update},
    {"film.delete",  "Delete the key",               "View/Camera path 5", "", "[KEY]",
     "Delete the selected key, or key KEY, from the camera path.", remove},
    {"film.move",    "Move a key in time",           "",       "", "KEY SECONDS",
     "Set the key's time, from the start of the path.", move},
    {"film.go",      "Go to a key",                  "",       "", "KEY|next|previous",
     "Go to the camera of this key, or of the next or previous one.", go},
    {"film.undo",    "Undo on the camera path",   "View/Camera path 5", "", "",
     "Undo the last change of the camera path.", take_back},
    {"film.redo",    "Redo on the camera path",   "View/Camera path 5", "", "",
     "Redo the last undone change of the camera path.", make_again},
    {"film.clear",   "Clear the camera path",        "View/Camera path 5", "", "",
     "Delete all keys; film.undo restores them.", clear},
    {"film.play",    "Play the camera path",         "View/Camera path 5", "Shift+P", "[on|off]",
     "Move the camera along the path from the shown time; steering stops it.", play},
    {"film.at",      "Look from the path",           "",       "", "SECONDS",
     "Go to the camera of the path at SECONDS.", at},
    {"film.show",    "Path in the viewport",         "View/Camera path 5", "", "[on|off]",
     "Draw the camera path with its keys over the picture.", show},
    {"film.preset",  "Camera path around the target", "View/Camera path 5", "", "NAME [SECONDS]",
     "orbit, spiral or dolly from the current camera, lasting SECONDS (10).", preset},
    {"film.closed",  "Close the path",               "",       "", "[on|off]",
     "Continue from the last key back to the first.", closed},
    {"film.ease",    "Ease in and out",              "",       "", "[on|off]",
     "Start and stop gently.", path_switch<&CameraPath::ease>},
    {"film.speed",   "Speed along the path",         "",       "", "even|keys",
     "even: constant speed; keys: reach each key at its time.", speed},
    {"film.seconds", "Duration of the path",         "",       "", "SECONDS",
     "Scale the times of all keys to this duration.", seconds},
    {"film.size",    "Size of the film",             "",       "", "WIDTH HEIGHT",
     "Pixels, 16 to 16384 each.", size},
    {"film.fps",     "Frames per second",            "",       "", "NUMBER",
     "Of the film, 0.1 to 240.", fps},
    {"film.lens",    "Lens of the film",             "",       "", "NAME",
     "pinhole, fisheye:DEGREES or equirectangular, for the whole film.", film_lens},
    {"film.codec",   "Codec of films",               "",       "", "h264|av1",
     "h264 plays everywhere; av1 files are about half the size.", codec},
    {"film.quality", "Quality of films",             "",       "", "NUMBER",
     "1 to 100; 75 is visually close to lossless.", quality},
    {"film.open",    "Open a camera path...",        "View/Camera path 5", "", "PATH",
     "Replace the path with one from a gausscope or nerfstudio file.", open},
    {"film.save",    "Save the camera path...",      "View/Camera path 5", "", "PATH [nerfstudio]",
     "Write it as gausscope JSON, or as nerfstudio's camera_path.json.", save},
    {"film.render",  "Film along the path...",       "View/Camera path 5", "", "PATH",
     "Render every frame of the path, as the viewport shows the scene, into a video (.mp4, .mkv) or a "
     "folder of PNG files.", render},
};
// clang-format on

}  // namespace

std::span<const CommandRow> film_commands() { return kRows; }

}  // namespace gs
