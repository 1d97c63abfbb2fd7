#include "app/studio/studio_keys.h"

#include <utility>

#include "base/log.h"
#include "base/try.h"
#include "panels/workspace.h"

namespace gs {

Result<void> StudioKeys::choose(const std::string& preset) {
    const std::string name = preset.empty() ? preferences_.keys : preset;
    GS_TRY(map_, load_key_map(name, folder_, [&](const std::string& command) {
               return table_.find(command) != nullptr;
           }));
    preferences_.keys = name;
    table_.show_keys(map_, layout_);
    for (const std::string& problem : map_.problems()) log_warning("{}", problem);
    if (!map_.problems().empty())
        state_.add_notice(false, "The key map has faults", map_.problems(), true);
    return {};
}

void StudioKeys::follow(KeyLayout layout) {
    if (layout == layout_) return;
    layout_ = std::move(layout);
    table_.show_keys(map_, layout_);
}

/// False: none was taken.
bool StudioKeys::put_tool_away() {
    return std::exchange(state_.tools.tool, Tool::navigate) != Tool::navigate;
}

bool StudioKeys::over_film() const {
    const Workspace& workspace = ui_.workspace();
    return !workspace.picture_only && workspace.in_front("Film") &&
           workspace.region_of({}) == workspace.region_of("Film");
}

bool StudioKeys::take(const KeyPress& key) {
    const KeyBinding* binding = map_.find(key.chord);
    const std::string& chord = binding ? key.chord : key.by_place;
    if (!binding) binding = map_.find(chord);
    const CommandRow* row = binding ? table_.find(binding->command) : nullptr;
    if (row && row->name == "edit.delete" && over_film()) row = table_.find("film.delete");
    const bool once = row && (row->name.starts_with("train.") || row->name.ends_with(".delete"));
    if (!row || (key.repeat && once)) return false;
    if (ui_.takes_key(key, chord, row->name)) return false;
    if (chord == "Escape" && (uncover(ui_.workspace()) || put_tool_away())) return true;
    // A command that needs arguments is finished in the palette.
    if (row->needs_arguments() && binding->arguments.empty())
        ui_.workspace().palette.show(row->name);
    else
        table_.give(state_, row->name, binding->arguments);
    return true;
}

}  // namespace gs
