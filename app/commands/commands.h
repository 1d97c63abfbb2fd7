// The studio's commands: each file of this folder has a table with one row per command and the
// function that runs it. Engine commands send a function to the engine's thread, window commands
// ask the studio, view settings change at once. To add one, add a row and its function.
#pragma once

#include <span>

#include "app/studio/command_table.h"
#include "app/studio/studio_state.h"

namespace gs {

std::span<const CommandRow> file_commands();
std::span<const CommandRow> import_commands();
std::span<const CommandRow> select_commands();
std::span<const CommandRow> edit_commands();
std::span<const CommandRow> training_commands();
std::span<const CommandRow> doctor_commands();
std::span<const CommandRow> view_commands();
std::span<const CommandRow> camera_commands();
std::span<const CommandRow> lens_commands();
std::span<const CommandRow> measure_commands();
std::span<const CommandRow> compare_commands();
std::span<const CommandRow> inspect_commands();
std::span<const CommandRow> photo_commands();
std::span<const CommandRow> film_commands();
std::span<const CommandRow> problem_commands();
std::span<const CommandRow> cost_commands();
std::span<const CommandRow> color_commands();
std::span<const CommandRow> predict_commands();
std::span<const CommandRow> drive_commands();
std::span<const CommandRow> lab_commands();
std::span<const CommandRow> trace_commands();
std::span<const CommandRow> note_commands();
std::span<const CommandRow> bundle_commands();
std::span<const CommandRow> verify_commands();
std::span<const CommandRow> window_commands();

/// All commands, with those of scripts (app/studio/script.h), in the order of menus and help page.
CommandTable all_commands();

}  // namespace gs
