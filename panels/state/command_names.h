// Every command that panels give, by name and argument list: the contract with the app's command
// table, which must hold all of these (a test there walks this list). Numbers are text in the C
// locale; booleans are "on" and "off".
#pragma once

#include <array>
#include <string_view>

namespace gs {

struct PanelCommand {
    std::string_view name;
    std::string_view arguments;  ///< as in CommandInfo::arguments
};

inline constexpr std::array kPanelCommands{
    PanelCommand{"open", "PATH"},           // a capture, splat file, checkpoint or trace
    PanelCommand{"open.sample", ""},        // makes the sample capture where needed, then opens it
    PanelCommand{"screenshot", "PATH"},     // the viewport's picture
    PanelCommand{"browse", "COMMAND"},      // asks for its path
    PanelCommand{"palette", ""},            // Workspace::palette.show()
    PanelCommand{"panel", "NAME"},          // Workspace::show_panel(NAME)
    PanelCommand{"layout.reset", ""},       // Workspace::reset_layout()
    PanelCommand{"view.mode", "MODE"},      // kViewModeNames
    PanelCommand{"view.style", "STYLE"},    // kDrawStyleNames
    PanelCommand{"view.colormap", "NAME"},  // kColormapNames
    PanelCommand{"view.range", "MODE [LO HI]"},  // kRangeModeNames; LO HI with manual
    PanelCommand{"view.percentile", "P"},        // 50..100
    PanelCommand{"view.log", "on|off"},          //
    PanelCommand{"lod.budget", "COUNT"},         // ViewSettings::lod_budget
    PanelCommand{"lod.pixels", "PIXELS"},        // ViewSettings::lod_pixels
    PanelCommand{"lod.level", "auto|LEVEL"},     // ViewSettings::lod_level
    PanelCommand{"doctor.examine", ""},          //
    PanelCommand{"doctor.fix", "[NAME]"},        // Finding::id; nothing: all
    PanelCommand{"doctor.undo", ""},             //
    PanelCommand{"view.gaussian", "ROW"},        // fills Snapshot::marked
    PanelCommand{"view.unmark", ""},             //
    PanelCommand{"cancel", "[NAME]"},            // Activity::name
    PanelCommand{"notice.dismiss", "[NUMBER]"},  // Notice::serial
    PanelCommand{"scene.compare", "PATH"},       // opens a second scene beside the first
    PanelCommand{"scene.swap", ""},              // the sides of A and B
    PanelCommand{"scene.end-compare", ""},       //
    PanelCommand{"view.with", "WHAT"},           // kCompareWithNames
    PanelCommand{"view.signed", "on|off"},       // mode error
    PanelCommand{"view.compare", "MODE"},        // kCompareNames
    PanelCommand{"view.split", "SHARE"},         // 0..1
    PanelCommand{"view.show-photo", "on|off"},   // in compare mode toggle
    PanelCommand{"view.frusta", "on|off"},       //
    PanelCommand{"view.overlays", "on|off"},     //
    PanelCommand{"view.tile-grid", "on|off"},    //
    PanelCommand{"view.navigation", "MODE"},     // kNavigationNames
    PanelCommand{"view.sh-degree", "DEGREE"},    // 0..3
    PanelCommand{"view.scale", "FACTOR"},        // ViewSettings::scale_modifier
    PanelCommand{"view.fly-speed", "EXTENTS"},   // scene extents per second
    PanelCommand{"view.budget", "SHARE"},        // ViewSettings::viewer_budget
    PanelCommand{"view.background", "R G B"},    // 0..1
    PanelCommand{"view.capture", "INDEX"},       // snaps to CameraRow::view INDEX
    PanelCommand{"view.next", ""},               // next capture camera
    PanelCommand{"view.previous", ""},           //
    PanelCommand{"view.frame-all", ""},          // frame_all() of navigation.h
    PanelCommand{"view.focus", "X Y"},  // pixel of the frame: look at and turn around what is there
    PanelCommand{"train.start", ""},    //
    PanelCommand{"train.pause", ""},    //
    PanelCommand{"train.step", ""},     //
    PanelCommand{"train.run-to", "STEP"},        //
    PanelCommand{"train.stop", ""},              // saves a checkpoint, then ends the run
    PanelCommand{"train.set", "NAME VALUE"},     // a row of Snapshot::settings
    PanelCommand{"train.checkpoint", "[PATH]"},  //
    PanelCommand{"limits.measure", "[again]"},   // fills Snapshot::costs
    PanelCommand{"export", "PATH"},              // splats
    PanelCommand{"trace.save", "PATH"},          // Perfetto trace of the TraceStore
    PanelCommand{"trace.open", "PATH"},          // a trace file beside the others
    PanelCommand{"trace.attach", "PID"},         // a process under the profiling service
    PanelCommand{"trace.show", "TRACE"},         // TraceEntry::id or name: what the timeline shows
    PanelCommand{"trace.close",
                 "TRACE"},  // an opened file, an attached process; cancels reading it
    PanelCommand{"trace.find", "[NAME]"},     // the Find panel, looking for NAME
    PanelCommand{"statistics.save", "PATH"},  // StatisticsPanel's table as CSV
    PanelCommand{
        "timeline.show",
        "BEGIN END [TRACK ROW]"},  // nanoseconds; the span of TRACK that begins there is selected
    PanelCommand{"timeline.select",
                 "[BEGIN END]"},  // the stretch that the other panels look at; none: all
};

}  // namespace gs
