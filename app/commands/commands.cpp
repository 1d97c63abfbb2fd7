#include "app/commands/commands.h"

#include "app/studio/script.h"

namespace gs {

CommandTable all_commands() {
    std::vector<CommandRow> rows;
    for (const std::span<const CommandRow> part :
         {file_commands(),    bundle_commands(),   import_commands(),  select_commands(),
          edit_commands(),    training_commands(), doctor_commands(),  view_commands(),
          camera_commands(),  lens_commands(),     measure_commands(), compare_commands(),
          inspect_commands(), photo_commands(),    problem_commands(), cost_commands(),
          predict_commands(), color_commands(),    film_commands(),    drive_commands(),
          lab_commands(),     trace_commands(),    verify_commands(),  note_commands(),
          window_commands(),  script_commands()})
        rows.insert(rows.end(), part.begin(), part.end());
    return CommandTable(std::move(rows));
}

}  // namespace gs
