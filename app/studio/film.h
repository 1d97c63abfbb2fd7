// FilmEditor: the camera path of the open scene: its keys, the film's format, and the shown time
// while it plays. Every change is saved in a file beside the saved views and recorded for the undo
// history. Owned by StudioState, changed by the film.* commands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/expected.h"
#include "base/file.h"
#include "panels/state/film_state.h"
#include "panels/viewport/navigation.h"

namespace gs {

class FilmEditor {
  public:
    using Version = std::shared_ptr<const Film>;
    /// Called after each change of the path with its label: "move key 3".
    std::function<void(std::string label, const Version& before, const Version& after)> on_change;

    /// Loads the path of a newly opened scene from `file`; no file: no path. An unreadable file is
    /// reported and left unchanged: the path is saved beside it, in film.2.json.
    /// `origin`: the scene's, which is added to positions in files.
    Result<void> open(fs::path file, Vec3d origin = {});
    /// Saves the path in this file, now and from now on. Errors: as open() and set().
    Result<void> keep_in(fs::path file);

    const Film& film() const { return *film_; }
    Vec3d origin() const { return origin_; }
    /// Replaces the path. Errors: usage (its keys are not a valid path); unwritable.
    Result<void> set(Film film, std::string label);
    /// Undoes or redoes a change: puts `to` in place of `from`, unless a newer change came first.
    Result<void> put(const Version& from, const Version& to);

    /// Adds a key at `seconds` from the start, replacing a key there, and selects it. On a closed
    /// path's way back to its first key, the way's duration stays.
    Result<void> add_key(const PathPose& pose, double seconds);
    /// The key time of the shown time: between those of its neighbour keys.
    double key_time_here();
    /// Errors (usage): no such key, or another key at that time.
    Result<void> remove_key(std::size_t key);
    Result<void> move_key(std::size_t key, double seconds);
    Result<void> replace_pose(std::size_t key, const PathPose& pose);
    /// Scales the path to this duration.
    Result<void> set_seconds(double seconds);

    /// Goes to this time and stops playing. Nothing: there is no key.
    std::optional<PathPose> look_at(double seconds);
    std::optional<PathPose> select(std::size_t key);
    /// Plays from here, or from the start if it is at the end.
    void play(bool on);
    bool playing() const { return playing_; }
    /// The pose `seconds` later, while it plays.
    std::optional<PathPose> advance(double seconds);

    std::string codec = "h264";
    int quality = 75;
    bool shown = true;
    const std::optional<std::size_t>& selected() const { return selected_; }
    double at() const { return at_; }

    /// For the panels, rebuilt after changes.
    std::shared_ptr<const FilmState> state();

  private:
    Result<void> change_to(Version film);
    Result<void> keep() const;
    std::optional<PathPose> pose_at(double seconds);
    Result<void> change_key(std::size_t key, const char* verb, const PathPose* pose,
                            std::optional<double> seconds);

    Version film_ = std::make_shared<const Film>();
    fs::path file_;
    Vec3d origin_;
    std::unique_ptr<PathCurve> curve_;  // null: no key, or not computed yet
    std::optional<std::size_t> selected_;
    double at_ = 0;
    bool playing_ = false;
    std::shared_ptr<const FilmState> state_;
};

/// The path's file beside the saved views: film.json in a run's folder.
fs::path film_file(const fs::path& views_file);
/// The viewport's camera as a key; parallel rays are ignored.
PathPose pose_of(const NavigationState& navigation);
/// `state` moved to a pose, with its target at the same distance as before.
NavigationState navigation_at(NavigationState state, const PathPose& pose);

}  // namespace gs
