// SceneFollower: what the studio does when another scene, run or drive opens: reads what was kept
// beside it (views, camera path, notes, measurements, layout), looks from where it was left, and
// keeps all of that again when it is left. The studio owns one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/studio/options.h"
#include "app/studio/preferences.h"
#include "app/studio/studio_traces.h"
#include "app/studio/studio_ui.h"

namespace gs {

struct UnpackedBundle;

class SceneFollower {
  public:
    using Check = std::function<void(const Result<void>&)>;
    struct Parts {
        const StudioOptions& options;
        const CommandTable& table;
        StudioState& state;
        StudioUi& ui;
        StudioTraces& traces;
        Preferences& preferences;
        Check check;  ///< takes what could not be read or written
    };
    explicit SceneFollower(Parts parts) : p_(std::move(parts)) {}

    /// Once per frame. True: another scene has opened.
    bool follow();
    /// The studio ends.
    void leave();
    Result<void> show_layout(const std::string& name);
    /// The panels lie as for looking at traces, until a scene opens.
    void show_for_traces();
    /// Saves to the user's assets, where show_layout() finds it; returns the file. usage: an
    /// invalid name.
    Result<std::string> save_layout(const std::string& name);

  private:
    void follow_run(bool another);
    void follow_drive();
    void begin_scene();
    void read_kept();
    void use_bundle(const UnpackedBundle& bundle);
    void keep_last_view();
    void keep_layout(const fs::path& run);
    void use_layout_of_run();

    Parts p_;
    std::uint64_t scene_seen_ = 0;
    std::string path_seen_, run_seen_;
    std::optional<std::size_t> sweep_seen_;  ///< that the viewport has followed
    bool trace_layout_ = false;              ///< preferences.layout is the user's own
    bool run_layout_ = false;                ///< that of a run, which keeps it; likewise
};

}  // namespace gs
