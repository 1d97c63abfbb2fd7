#include "panels/panel_table.h"

#include "panels/files_panel.h"
#include "panels/help_panel.h"
#include "panels/log_panel.h"
#include "panels/scene/cameras_panel.h"
#include "panels/scene/contact_sheet_panel.h"
#include "panels/scene/doctor_panel.h"
#include "panels/scene/drive_panel.h"
#include "panels/scene/exposure_panel.h"
#include "panels/scene/film_panel.h"
#include "panels/scene/images_panel.h"
#include "panels/scene/measure_panel.h"
#include "panels/scene/notes_panel.h"
#include "panels/scene/pixel_panel.h"
#include "panels/scene/problems_panel.h"
#include "panels/scene/scene_panel.h"
#include "panels/scene/selection_panel.h"
#include "panels/scene/values_panel.h"
#include "panels/scene/verify_panel.h"
#include "panels/state/measure_state.h"
#include "panels/timeline/timeline_panel.h"
#include "panels/trace/compare_panel.h"
#include "panels/trace/costs_panel.h"
#include "panels/trace/find_panel.h"
#include "panels/trace/flame_panel.h"
#include "panels/trace/insights_panel.h"
#include "panels/trace/memory_panel.h"
#include "panels/trace/stages_panel.h"
#include "panels/trace/statistics_panel.h"
#include "panels/training/lab_panel.h"
#include "panels/training/plots_panel.h"
#include "panels/training/time_lapse_panel.h"
#include "panels/training/training_panel.h"
#include "panels/viewport/viewport.h"

namespace gs {
namespace {

template <class P>
std::unique_ptr<AnyPanel> made(TraceView& view) {
    return std::make_unique<HeldPanel<P>>(view);
}

template <auto part>
bool answered(const Snapshot& s) {
    return s.*part != nullptr;
}
bool measures_a_length(const Snapshot& s) { return s.measured && !s.measured->points.empty(); }
bool selects_some(const Snapshot& s) { return s.selection && s.selection->selected > 0; }
bool colors_by_value(const Snapshot& s) { return s.view.color_by.value != GaussianValue::none; }

using enum Region;

// clang-format off
constexpr PanelRow kPanels[] = {
    // name         at home       scrolls made by                 comes forward with
    {"Scene",        left,         true,   made<ScenePanel>},
    {"Files",        left,         false,  made<FilesPanel>},
    {"Cameras",      left_lower,   false,  made<CamerasPanel>},
    {"Notes",        left_lower,   false,  made<NotesPanel>},
    {"Viewport",     centre,       false,  made<Viewport>},
    {"Training",     right,        true,   made<TrainingPanel>},
    {"Stages",       right_lower,  true,   made<StagesPanel>},
    {"Insights",     right_lower,  true,   made<InsightsPanel>},
    {"Memory",       right_lower,  true,   made<MemoryPanel>},
    {"Doctor",       right_lower,  true,   made<DoctorPanel>},
    {"Pixel",        right_lower,  true,   made<PixelPanel>, answered<&Snapshot::inspection>},
    {"Measure",      right_lower,  true,   made<MeasurePanel>, measures_a_length},
    {"Selection",    right,        true,   made<SelectionPanel>, selects_some},
    {"Values",       right_lower,  true,   made<ValuesPanel>, colors_by_value},
    {"Costs",        right_lower,  true,   made<CostsPanel>, answered<&Snapshot::cost_report>},
    {"Verify",       right_lower,  true,   made<VerifyPanel>, answered<&Snapshot::verified>},
    {"Timeline",     bottom,       false,  made<TimelinePanel>},
    {"Find",         bottom,       false,  made<FindPanel>},
    {"Statistics",   bottom,       false,  made<StatisticsPanel>},
    {"Flame graph",  bottom,       false,  made<FlamePanel>},
    {"Compare",      bottom,       false,  made<ComparePanel>},
    {"Images",       bottom,       false,  made<ImagesPanel>},
    {"Contact sheet", bottom,      false,  made<ContactSheetPanel>},
    {"Problems",     bottom,       false,  made<ProblemsPanel>, answered<&Snapshot::problems>},
    {"Exposure",     bottom,       false,  made<ExposurePanel>},
    {"Drive",        bottom,       false,  made<DrivePanel>, answered<&Snapshot::drive>},
    {"Lab",          bottom,       false,  made<LabPanel>},
    {"Log",          bottom,       false,  made<LogPanel>},
    {"Plots",        bottom_right, false,  made<PlotsPanel>},
    {"Time lapse",   bottom_right, false,  made<TimeLapsePanel>},
    {"Film",         bottom_right, false,  made<FilmPanel>},
    {"Help",         hidden,       false,  made<HelpPanel>},
};
// clang-format on

}  // namespace

std::span<const PanelRow> panel_rows() { return kPanels; }

}  // namespace gs
