// Time lapse: a run seen by fixed cameras, from its first step to the newest: scrub with the mouse
// or the arrow keys, or play. A tab of the workspace.
#pragma once

#include <cstdint>
#include <string>

#include "panels/state/command.h"
#include "panels/state/pictures.h"
#include "panels/state/snapshot.h"

namespace gs {

struct TimeLapsePanel {
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return playing || waits_; }
    /// Plays from here, or from the first picture if it shows the last; or stops.
    void set_playing(bool on);

    std::string view;        ///< whose pictures are shown; empty: the first
    bool newest = true;      ///< the newest picture, as it comes
    std::uint64_t step = 0;  ///< else that of this step
    bool playing = false;

  private:
    void draw_head(const TimeLapseState& lapse, Commands& commands);
    void draw_strip(const TimeLapseState::View& shown, std::size_t& index);
    void draw_picture(const Snapshot& snapshot, const TimeLapseState::View& shown,
                      std::size_t index, float height);
    PanelPicture picture_or_last(PanelPictures& pictures, const std::string& file);
    void walk(std::size_t last, std::size_t& index);
    void play(std::size_t last, std::size_t& index);

    double since_ = 0;         // the last picture that was played, seconds
    std::string last_file_;    // available: shown while the next one is read
    std::string last_folder_;  // its camera and run: cleared when these change
    std::string wanted_;       // not available yet
    double waited_ = 0;        // for it, seconds
    bool waits_ = false;
    bool from_first_ = false;  // it begins to play
};

}  // namespace gs
