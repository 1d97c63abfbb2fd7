#include "app/studio/scene_follower.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "app/bundle/bundle_file.h"
#include "app/bundle/view_file.h"
#include "base/file.h"
#include "base/log.h"
#include "base/try.h"
#include "panels/state/drive_state.h"

namespace gs {
namespace {

constexpr const char* kLayoutFile = "layout.txt";  // beside a run's views.txt

}  // namespace

bool SceneFollower::follow() {
    StudioState& state = p_.state;
    const bool another = state.scene && state.status.scene_serial != scene_seen_;
    // Splats that are trained further are the same scene, now with a run.
    const bool same = another && state.scene->path == path_seen_ && run_seen_.empty() &&
                      !state.status.run_folder.empty();
    if (another && scene_seen_ != 0) keep_last_view();  // of the one before
    follow_run(another && !same);
    if (same)
        scene_seen_ = state.status.scene_serial;
    else if (another)
        begin_scene();
    else
        p_.check(state.notes.move_to(notes_file(state.views_file)));
    follow_drive();
    return another;
}

void SceneFollower::begin_scene() {
    StudioState& state = p_.state;
    scene_seen_ = state.status.scene_serial;
    path_seen_ = state.scene->path;
    if (trace_layout_) p_.ui.workspace().load_layout(p_.preferences.layout);
    trace_layout_ = false;
    state.view.capture_view = -1;
    state.view.near_plane = 0;  // lengths and places of the world before
    state.view.clip.reset();
    state.tools.radius = 0;
    state.tools.lo = state.tools.hi = {};
    state.picked_camera.reset();
    state.hovered_camera.reset();
    read_kept();
    use_layout_of_run();
    p_.traces.own().restart_warm_up();
    if (!state.scene->path.empty()) remember_path(p_.preferences.recent, state.scene->path);
}

/// What lies beside the scene or in its run's folder.
void SceneFollower::read_kept() {
    StudioState& state = p_.state;
    state.views_file = state.bundle
                           ? state.bundle->folder.path() / member_name::kViews
                           : views_file(state.status.run_folder.empty() ? state.scene->run_folder
                                                                        : state.status.run_folder,
                                        state.scene->path, config_folder());
    state.measured =
        std::make_shared<const MeasureState>(read_measures(measures_file(state.views_file)));
    SceneInfo scene = *state.scene;
    if (const auto& up = state.measured->up)
        scene.up = {static_cast<float>(up->x), static_cast<float>(up->y),
                    static_cast<float>(up->z)};
    state.navigation = first_view(scene);
    if (state.cameras && !state.cameras->empty()) p_.table.give(state, "view.capture", {"0"});
    state.saved_views = read_views(state.views_file);
    if (const auto read = state.film.open(film_file(state.views_file), state.scene->origin); !read)
        complain(state, read.error().text());
    if (const auto read = state.notes.open(notes_file(state.views_file)); !read)
        complain(state, read.error().text());
    if (state.bundle) use_bundle(*state.bundle);
    for (const SavedView& view : state.saved_views)
        if (view.name == kLastView && p_.options.remember) (void)look_from(state, view);
}

/// A run is among what was used last as soon as it has a folder. What was made of the scene before
/// it trained goes there; of `another` scene, what lies there is read.
void SceneFollower::follow_run(bool another) {
    StudioState& state = p_.state;
    if (state.status.run_folder == run_seen_) return;
    run_seen_ = state.status.run_folder;
    if (run_seen_.empty()) return;
    remember_path(p_.preferences.recent, run_seen_);
    if (another) return;
    state.views_file = views_file(run_seen_, {}, {});
    if (state.measured && !state.measured->empty())
        p_.check(write_measures(measures_file(state.views_file), *state.measured));
    if (const auto kept = state.film.keep_in(film_file(state.views_file)); !kept)
        complain(state, kept.error().text());
}

/// The viewport looks through a photo of the sweep's moment, of the camera that it looks through.
void SceneFollower::follow_drive() {
    StudioState& state = p_.state;
    const DriveState* drive = state.drive.get();
    std::optional<std::size_t> sweep;
    if (drive && drive->following) sweep = drive->chosen;
    if (std::exchange(sweep_seen_, sweep) == sweep || !sweep) return;
    if (const auto photo = photo_to_follow(*drive, state.cameras.get(), state.view.capture_view))
        p_.table.give(state, "view.capture", {std::to_string(*photo)});
}

/// Restores the packed camera, view settings and trace; the rest is in views_file's folder.
void SceneFollower::use_bundle(const UnpackedBundle& bundle) {
    StudioState& state = p_.state;
    if (const auto text = read_text_file(bundle.folder.path() / member_name::kView, 1 << 20))
        take_view_json(*text, state.view);
    for (const SavedView& view : state.saved_views)
        if (view.name == kLastView) (void)look_from(state, view);
    std::erase_if(state.saved_views, [](const SavedView& v) { return v.name == kLastView; });
    if (const fs::path trace = bundle.member(member_name::kTrace); !trace.empty())
        p_.traces.library().open(trace.string());
    if (bundle.notes.empty()) return;
    state.add_notice(false, bundle.file.filename().string() + ": some parts were not loaded",
                     bundle.notes, true);
}

/// A run is looked at again from where it was left.
void SceneFollower::keep_last_view() {
    StudioState& state = p_.state;
    if (!p_.options.remember || p_.options.headless || state.views_file.filename() != "views.txt" ||
        !folder_exists(state.views_file.parent_path()))
        return;
    std::erase_if(state.saved_views, [](const SavedView& v) { return v.name == kLastView; });
    state.saved_views.push_back({kLastView, state.view.capture_view, state.navigation});
    p_.check(write_views(state.views_file, state.saved_views));
    keep_layout(state.views_file.parent_path());
}

void SceneFollower::leave() {
    keep_last_view();
    if (!trace_layout_ && !run_layout_) p_.preferences.layout = p_.ui.workspace().save_layout();
}

// ---- layouts of the panels: a run's, saved with it, and named ones of the user

/// A run's panels lie again where they lay.
void SceneFollower::keep_layout(const fs::path& run) {
    if (trace_layout_) return;
    if (const auto kept = write_text_file(run / kLayoutFile, p_.ui.workspace().save_layout());
        !kept)
        log_debug("{}", kept.error().text());
}

/// Loads the opened run's layout; without a run, restores the user's own.
void SceneFollower::use_layout_of_run() {
    if (!p_.options.remember || p_.options.headless) return;
    const fs::path& views = p_.state.views_file;
    const auto layout = views.filename() == "views.txt"
                            ? read_text_file(views.parent_path() / kLayoutFile, 1 << 20)
                            : Result<std::string>(std::string());
    const bool has = layout && !layout->empty();
    Workspace& workspace = p_.ui.workspace();
    if (!run_layout_ && has) p_.preferences.layout = workspace.save_layout();
    if (has)
        workspace.load_layout(*layout);
    else if (run_layout_)
        workspace.load_layout(p_.preferences.layout);
    run_layout_ = has;
}

Result<void> SceneFollower::show_layout(const std::string& name) {
    GS_TRY_VOID(p_.ui.workspace().show_layout(name));
    trace_layout_ = false;
    return {};
}

void SceneFollower::show_for_traces() {
    p_.preferences.layout = p_.ui.workspace().save_layout();
    p_.check(show_layout("traces"));
    trace_layout_ = true;
}

Result<std::string> SceneFollower::save_layout(const std::string& name) {
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    });
    if (!plain)
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a valid layout name", name),
                    "use letters, digits, - and _");
    const fs::path path = config_folder() / "assets" / "layouts" / (name + ".layout");
    GS_TRY_VOID(make_folder(path.parent_path()));
    GS_TRY_VOID(write_text_file(path, p_.ui.workspace().save_layout()));
    return path.string();
}

}  // namespace gs
