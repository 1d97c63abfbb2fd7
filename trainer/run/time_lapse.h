// TimeLapse: draws a run from fixed cameras during training, a picture of each every N steps. Its
// folder has timelapse/VIEW/STEP.jpg, and timelapse/views.json with the cameras, so that a resumed
// run draws from the same places. Owned by Run, which says when a step was done and how to draw;
// panels read it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/image.h"

namespace gs {

inline constexpr const char* kTimeLapseFolder = "timelapse";
/// Longest side of a picture, pixels.
inline constexpr int kTimeLapseSide = 640;
/// Of the training's time, where the program chooses the steps.
inline constexpr double kTimeLapseShare = 0.01;

/// How often: every N steps, or as often as kTimeLapseShare of the time allows (the program
/// chooses), or never.
struct LapsePace {
    std::uint64_t every = 0;  ///< steps; 0: never, unless `chosen`
    bool chosen = false;      ///< by the program
    bool on() const { return chosen || every > 0; }
    bool operator==(const LapsePace&) const = default;
};
/// "100", "auto" or "off". Errors: usage.
Result<LapsePace> parse_lapse_pace(std::string_view text);
std::string text_of(const LapsePace& pace);

/// A fixed camera.
struct LapseCamera {
    std::string name;
    Camera camera;
};

/// Of these names, comma separated: from `saved`, else photos, with or without their extension. No
/// names: the first photo that is held out (or the first), and all of `saved`. Errors (usage):
/// there is none of a name.
Result<std::vector<LapseCamera>> choose_lapse_cameras(std::string_view names,
                                                      const std::vector<LapseCamera>& saved,
                                                      const Capture& capture);

/// The pictures of one camera. Another one that gets its name later leaves it "NAME (before)".
struct LapseView {
    std::string name;                  ///< the camera's
    Camera camera;                     ///< that took them
    fs::path folder;                   ///< of its pictures
    std::vector<std::uint64_t> steps;  ///< that there are pictures of, ascending
};
/// The picture of a step.
fs::path lapse_picture(const fs::path& view_folder, std::uint64_t step);
/// What a run's folder holds; empty: no time lapse.
std::vector<LapseView> time_lapse_in(const fs::path& run_folder);

class TimeLapse {
  public:
    using Draw = std::function<Image8(const Camera& camera, int most_side)>;

    /// Reads the folder of a run that resumes after `step`: its pace, cameras and pictures until
    /// then. Writes nothing: the folder may be another run's, see move_in().
    void take_up(const fs::path& run_folder, std::uint64_t step);
    /// The run writes into this folder from now on, which is its own. Where that is the one it was
    /// in, pictures of a way that was left are moved into timelapse/left-STEP; another folder gets
    /// pictures of its own, from the same cameras.
    void move_in(const fs::path& run_folder);
    void set_pace(const LapsePace& pace) {
        pace_ = pace;
        written_ = false;
    }
    const LapsePace& pace() const { return pace_; }
    /// From the next picture on; those of other cameras, or of the same from elsewhere, stay. A
    /// number after the name distinguishes two of one name.
    void set_cameras(std::vector<LapseCamera> cameras);
    bool has_cameras() const { return !cameras_.empty(); }

    /// `training_seconds`: spent by the run so far.
    bool due(std::uint64_t step, double training_seconds) const;
    /// A picture from every camera. Errors: a file could not be written; then none are taken any
    /// more before the next set_pace(). Throws what `draw` throws.
    Result<void> take(const fs::path& run_folder, std::uint64_t step, const Draw& draw);
    /// Pace and cameras into the folder, where there is or will be a time lapse and they are not
    /// there yet. Errors: unwritable.
    Result<void> save(const fs::path& run_folder);
    /// The run resumes after an earlier `step`. The next move_in() moves later pictures away.
    void go_back(std::uint64_t step);

    const std::vector<LapseView>& views() const { return views_; }
    std::uint64_t pictures() const { return pictures_; }  ///< taken by this process
    double seconds() const { return seconds_; }           ///< what they cost

  private:
    LapseView& view_of(const LapseCamera& camera);
    std::string free_name(const std::string& wanted) const;
    bool is_free(const LapseView& view) const;
    void restart();
    void set_left_aside();

    LapsePace pace_;
    std::vector<LapseCamera> cameras_;
    std::vector<LapseView> views_;
    fs::path home_;                // the run's folder that views_ are in; empty: none yet
    std::vector<LapseView> left_;  // pictures of a way that was left, still beside the others
    bool written_ = false;         // views.json says what is here
    std::uint64_t pictures_ = 0;
    double seconds_ = 0, last_seconds_ = 0;
};

/// Removes what a time lapse writes into a run's folder, and its folders if they contain nothing
/// else.
void remove_time_lapse(const fs::path& run_folder);

}  // namespace gs
