// FilmEditor: the camera path of the open scene: its keys, the film's format, and the shown time
// while it plays. Every change is saved in a file beside the saved views and can be undone. Owned
// by StudioState, changed by the film.* commands.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "panels/state/film_state.h"
#include "panels/viewport/navigation.h"

namespace gs {

class FilmEditor {
  public:
    /// Another scene is open, whose path lies in `file`; none there: no path. A file that cannot be
    /// read is told, and stays as it is: the path is kept beside it, in film.2.json.
    /// `origin`: the scene's, which places in files have added.
    Result<void> open(fs::path file, Vec3d origin = {});
    /// From now on the path is kept in this file, as it is now, too. Errors: as open() and set().
    Result<void> keep_in(fs::path file);

    const Film& film() const { return film_; }
    Vec3d origin() const { return origin_; }
    /// In place of what there is. Errors: usage (its keys make no path); unwritable.
    Result<void> set(Film film);
    /// Takes the newest change back; makes it again. Errors (usage): there is none.
    Result<void> undo();
    Result<void> redo();

    /// At `seconds` from the beginning; another key there goes. On the way of a closed path back to
    /// its first key, it takes as long as before. Selects it.
    Result<void> add_key(const PathPose& pose, double seconds);
    /// The key time of what is looked at: between those of the keys around it.
    double key_time_here();
    /// Errors (usage): there is no such key; or there is another at that time.
    Result<void> remove_key(std::size_t key);
    Result<void> move_key(std::size_t key, double seconds);
    Result<void> replace_pose(std::size_t key, const PathPose& pose);
    /// The whole path in so many seconds.
    Result<void> set_seconds(double seconds);

    /// Looks from there on; stops playing. Nothing: there is no key.
    std::optional<PathPose> look_at(double seconds);
    std::optional<PathPose> select(std::size_t key);
    /// From here, or from the beginning where it is at the end.
    void play(bool on);
    bool playing() const { return playing_; }
    /// Where it is `seconds` later, while it plays.
    std::optional<PathPose> advance(double seconds);

    std::string codec = "h264";
    int quality = 75;
    bool shown = true;
    const std::optional<std::size_t>& selected() const { return selected_; }
    double at() const { return at_; }

    /// For the panels, made anew after something changed.
    std::shared_ptr<const FilmState> state();

  private:
    Result<void> change_to(Film film);
    Result<void> keep() const;
    std::optional<PathPose> pose_at(double seconds);
    Result<void> change_key(std::size_t key, const PathPose* pose, std::optional<double> seconds);

    Film film_;
    fs::path file_;
    Vec3d origin_;
    std::vector<Film> undo_, redo_;
    std::unique_ptr<PathCurve> curve_;  // null: no key, or not worked out yet
    std::optional<std::size_t> selected_;
    double at_ = 0;
    bool playing_ = false;
    std::shared_ptr<const FilmState> state_;
};

/// Beside the file of saved views: film.json in a run's folder.
fs::path film_file(const fs::path& views_file);
/// The viewport's camera as a key; parallel rays are left out.
PathPose pose_of(const NavigationState& navigation);
/// `state` looking from a pose, turning around what is as far away as before.
NavigationState navigation_at(NavigationState state, const PathPose& pose);

}  // namespace gs
