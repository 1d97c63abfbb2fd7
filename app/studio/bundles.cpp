// Bundles in the studio: collects the contents when one is saved. SceneFollower restores them.
#include <nlohmann/json.hpp>

#include "app/bundle/bundle_file.h"
#include "app/bundle/view_file.h"
#include "app/session/engine.h"
#include "app/session/parts/bundle_saver.h"
#include "app/studio/film.h"
#include "app/studio/measures.h"
#include "app/studio/session_report.h"
#include "app/studio/studio.h"
#include "base/json_write.h"
#include "base/try.h"
#include "profiler/files/export_perfetto.h"

namespace gs {
namespace {

std::string settings_text(const std::vector<SettingRow>& rows) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (const SettingRow& row : rows) out[row.name] = json_number(row.value);
    return json_text(out, 2) + "\n";
}

/// Saved views, and where the viewport looks from now.
Result<void> write_places(const StudioState& state, const fs::path& folder) {
    std::vector<SavedView> views = state.saved_views;
    std::erase_if(views, [](const SavedView& v) { return v.name == kLastView; });
    views.push_back({kLastView, state.view.capture_view, state.navigation});
    GS_TRY_VOID(write_views(folder / member_name::kViews, views));
    GS_TRY_VOID(write_text_file(folder / member_name::kView, view_json(state.view)));
    // Files saved beside them with every change.
    for (const auto& [file, name] :
         {std::pair(film_file(state.views_file), member_name::kPath),
          std::pair(measures_file(state.views_file), member_name::kMeasures)}) {
        std::error_code error;
        if (!fs::is_regular_file(file, error)) continue;
        GS_TRY(const auto bytes, read_file(file));
        GS_TRY_VOID(write_file(folder / name, bytes));
    }
    const auto& notes = state.notes.state();
    return write_text_file(folder / member_name::kNotes,
                           notes_json(notes ? notes->notes : std::vector<Note>()));
}

}  // namespace

Result<void> save_bundle(Studio& studio, const std::string& path, bool photos) {
    StudioState& state = studio.state();
    if (!state.scene) return fail(ErrorKind::usage, "", "nothing is open to save");
    if (fs::path(path).extension() != ".gsb")
        return fail(ErrorKind::usage, path, "a bundle's name must end in .gsb");
    GS_TRY(auto made, PrivateFolder::make());
    auto folder = std::make_shared<PrivateFolder>(std::move(made));
    const fs::path& to = folder->path();
    GS_TRY_VOID(write_places(state, to));
    GS_TRY_VOID(write_text_file(to / member_name::kLayout, studio.ui().workspace().save_layout()));
    if (state.settings) {
        GS_TRY_VOID(write_text_file(to / member_name::kSettings, settings_text(*state.settings)));
    }
    if (state.curves) {
        GS_TRY_VOID(write_text_file(to / member_name::kCurves, curves_csv(*state.curves)));
    }
    studio.traces().drain();
    const TraceStore& trace = studio.traces().own();
    GS_TRY_VOID(export_perfetto(trace, to / member_name::kTrace));
    const auto request = std::make_shared<BundleRequest>(
        BundleRequest{path, photos, view_request_of(state, state.width, state.height), folder,
                      session_report(state, trace)});
    return send(state, [request](Engine& e) {
        if (const auto scene = e.open_scene())
            e.part<BundleSaver>().save(std::move(*request), *scene);
    });
}

}  // namespace gs
