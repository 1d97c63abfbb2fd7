#include "panels/panel_table.h"

#include "panels/cameras_panel.h"
#include "panels/compare_panel.h"
#include "panels/doctor_panel.h"
#include "panels/files_panel.h"
#include "panels/find_panel.h"
#include "panels/flame_panel.h"
#include "panels/help_panel.h"
#include "panels/images_panel.h"
#include "panels/insights_panel.h"
#include "panels/log_panel.h"
#include "panels/memory_panel.h"
#include "panels/plots_panel.h"
#include "panels/scene_panel.h"
#include "panels/stages_panel.h"
#include "panels/statistics_panel.h"
#include "panels/timeline/timeline_panel.h"
#include "panels/training_panel.h"
#include "panels/viewport/viewport.h"

namespace gs {
namespace {

template <class P>
std::unique_ptr<AnyPanel> made(TraceView& view) {
    return std::make_unique<HeldPanel<P>>(view);
}

constexpr unsigned kBack = 0, kFront = PanelRow::kFront, kScrolls = PanelRow::kScrolls;
using enum Region;

// clang-format off
constexpr PanelRow kPanels[] = {
    // name         at first      with traces   how                made by
    {"Scene",       left,         hidden,       kFront | kScrolls, made<ScenePanel>},
    {"Files",       left,         left,         kBack,             made<FilesPanel>},
    {"Cameras",     left_lower,   hidden,       kFront,            made<CamerasPanel>},
    {"Viewport",    centre,       centre,       kFront,            made<Viewport>},
    {"Training",    right,        hidden,       kFront | kScrolls, made<TrainingPanel>},
    {"Stages",      right_lower,  right_lower,  kFront | kScrolls, made<StagesPanel>},
    {"Insights",    right_lower,  right,        kScrolls,          made<InsightsPanel>},
    {"Memory",      right_lower,  right_lower,  kScrolls,          made<MemoryPanel>},
    {"Doctor",      right_lower,  right_lower,  kScrolls,          made<DoctorPanel>},
    {"Timeline",    bottom,       centre,       kFront,            made<TimelinePanel>},
    {"Find",        bottom,       bottom,       kBack,             made<FindPanel>},
    {"Statistics",  bottom,       bottom,       kBack,             made<StatisticsPanel>},
    {"Flame graph", bottom,       bottom,       kBack,             made<FlamePanel>},
    {"Compare",     bottom,       bottom,       kBack,             made<ComparePanel>},
    {"Images",      bottom,       bottom,       kBack,             made<ImagesPanel>},
    {"Log",         bottom,       bottom,       kBack,             made<LogPanel>},
    {"Plots",       bottom_right, hidden,       kFront,            made<PlotsPanel>},
    {"Help",        hidden,       hidden,       kBack,             made<HelpPanel>},
};
// clang-format on

}  // namespace

std::span<const PanelRow> panel_rows() { return kPanels; }

}  // namespace gs
