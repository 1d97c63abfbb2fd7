// The stages gausscope measures, one table: number, name, group. A stage has the same name in
// source, trace, panels, CLI and docs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gs {

// clang-format off
#define GS_STAGES(X)                           \
    X(load,              "load",        io)    \
    X(decode_photo,      "decode photo",io)    \
    X(init,              "init",        io)    \
    X(iteration,         "iteration",   frame) \
    X(view_frame,        "view frame",  frame) \
    X(cull,              "cull",        forward)  \
    X(project,           "project",     forward)  \
    X(emit,              "emit",        forward)  \
    X(sort,              "sort",        forward)  \
    X(ranges,            "ranges",      forward)  \
    X(blend,             "blend",       forward)  \
    X(appearance,        "appearance",  training) \
    X(loss,              "loss",        training) \
    X(blend_backward,    "blend backward",   backward) \
    X(project_backward,  "project backward", backward) \
    X(rays,              "rays",        training) \
    X(exchange,          "exchange",    training) \
    X(adam,              "adam",        training) \
    X(nudge,             "noise and regularisers", training) \
    X(density,           "density control", training) \
    X(evaluation,        "evaluation",  training) \
    X(checkpoint,        "checkpoint",  io)    \
    X(export_splats,     "export",      io)    \
    X(pack,              "pack",        frame) \
    X(ui,                "ui frame",    ui)    \
    X(ui_panels,         "panels",      ui)    \
    X(ui_present,        "present",     ui)    \
    X(other,             "other",       other)
// clang-format on

enum class StageGroup : std::uint8_t { io, frame, forward, backward, training, ui, other };

enum class Stage : std::uint16_t {
#define GS_STAGE_ENUM(id, name, group) id,
    GS_STAGES(GS_STAGE_ENUM)
#undef GS_STAGE_ENUM
};

inline constexpr const char* kStageNames[] = {
#define GS_STAGE_NAME(id, name, group) name,
    GS_STAGES(GS_STAGE_NAME)
#undef GS_STAGE_NAME
};
inline constexpr StageGroup kStageGroups[] = {
#define GS_STAGE_GROUP(id, name, group) StageGroup::group,
    GS_STAGES(GS_STAGE_GROUP)
#undef GS_STAGE_GROUP
};
inline constexpr std::size_t kStageCount = sizeof(kStageNames) / sizeof(kStageNames[0]);
constexpr const char* name_of(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }
inline constexpr const char* kStageGroupNames[] = {"io",       "frame", "forward", "backward",
                                                   "training", "ui",    "other"};
constexpr const char* name_of(StageGroup group) {
    return kStageGroupNames[static_cast<std::size_t>(group)];
}
constexpr StageGroup group_of(Stage stage) { return kStageGroups[static_cast<std::size_t>(stage)]; }

/// What a worker thread did for a parallel loop within a stage is a span of this and the stage's
/// name, "tasks of blend", with the number of tasks as payload.
inline constexpr std::string_view kTasksOf = "tasks of ";

}  // namespace gs
