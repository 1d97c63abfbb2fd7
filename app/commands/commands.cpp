#include "app/commands/commands.h"

#include "app/studio/script.h"
#include "base/assets.h"
#include "base/check.h"

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
    CommandTable table(std::move(rows));
    KeyMap keys;
    keys.read(embedded_asset("keys/gausscope.keys"), "gausscope.keys",
              [&](const std::string& name) { return table.find(name) != nullptr; });
    CHECK(keys.problems().empty(), "the built-in key map: {}", keys.problems().front());
    table.show_keys(keys, {});
    return table;
}

}  // namespace gs
