#include "panels/trace/memory_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <span>

#include "base/format.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

ImU32 category_color(std::size_t index) {
    constexpr ImU32 kColors[] = {color_rgb(0x56b4e9), color_rgb(0xe69f00), color_rgb(0x009e73),
                                 color_rgb(0xf0e442), color_rgb(0x0072b2), color_rgb(0xd55e00),
                                 color_rgb(0xcc79a7), color_rgb(0x117733), color_rgb(0x88ccee),
                                 color_rgb(0x882255), color_rgb(0xddcc77), color_rgb(0x44aa99)};
    return kColors[index % std::size(kColors)];
}

std::uint64_t sum_of(const std::vector<MemoryUse>& rows) {
    std::uint64_t sum = 0;
    for (const MemoryUse& row : rows) sum += row.bytes;
    return sum;
}

/// Parts of `whole`: the rows, then `rest` in grey, then free memory.
void share_bar(const std::vector<MemoryUse>& rows, double whole, double rest = 0) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, height = 0.9F * em();
    ImGui::Dummy({width, height});
    if (!(whole > 0)) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(corner, {corner.x + width, corner.y + height}, theme().field, 2);
    float x = corner.x;
    const auto part = [&](double bytes, ImU32 color) {
        const float w = std::min(width * static_cast<float>(bytes / whole), corner.x + width - x);
        list.AddRectFilled({x, corner.y}, {x + std::max(w - 1, 0.0F), corner.y + height}, color);
        x += std::max(w, 0.0F);
    };
    for (std::size_t i = 0; i < rows.size(); ++i)
        part(static_cast<double>(rows[i].bytes), category_color(i));
    part(rest, theme().faint);
}

struct MemoryLine {
    std::string name;
    std::uint64_t bytes = 0;
    ImU32 color = 0;
    std::uint64_t total = 0;  ///< what the share is of; 0: no share
    const char* hint = "";
};

/// Rows with their colours; of an arena also what of it was ever used.
std::vector<MemoryLine> lines_of(const std::vector<MemoryUse>& rows, std::uint64_t total) {
    std::vector<MemoryLine> out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out.push_back({rows[i].category, rows[i].bytes, category_color(i), total});
        if (rows[i].peak > 0)
            out.push_back({"  most in use", rows[i].peak, 0, 0,
                           "high-water mark: most of this reservation in use at once"});
    }
    return out;
}

void draw_lines(const char* id, const std::vector<MemoryLine>& lines) {
    const auto draw_name = [&](std::size_t i) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 0.2F * em()},
                                                  {at.x + 0.6F * em(), at.y + 0.8F * em()},
                                                  lines[i].color, 2);
        ImGui::SetCursorPosX(ImGui::GetCursorPosX() + em());
        text(fitted(lines[i].name, ImGui::GetContentRegionAvail().x));
        tooltip(lines[i].hint);
    };
    const auto share = [](const MemoryLine& l) {
        return l.total > 0 ? TableCell(static_cast<double>(l.bytes) / static_cast<double>(l.total),
                                       Tone::dim)
                           : TableCell();
    };
    draw_table(
        table_of<MemoryLine>(std::span(lines), {{"", "category", nullptr, &MemoryLine::name, -1},
                                                {"", "size", format_bytes, &MemoryLine::bytes, 5},
                                                {"", "share", format_share, share, 4}}),
        {.id = id,
         .flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp,
         .draw = {{"category", draw_name}}});
}

void draw_host(const Snapshot& snapshot, const std::vector<MemoryUse>& rows) {
    const std::uint64_t total = sum_of(rows), resident = snapshot.process_bytes;
    const std::uint64_t rest = resident - std::min(total, resident),
                        whole = std::max(total, resident);
    share_bar(rows, static_cast<double>(whole), static_cast<double>(rest));
    std::vector<MemoryLine> lines = lines_of(rows, whole);
    lines.push_back({"sum of these", total, 0, whole});
    if (resident > 0) {
        lines.push_back({"the rest", rest, theme().faint, whole,
                         "of the process: program and libraries, OpenGL and its textures, threads' "
                         "stacks, and what the allocator keeps for later"});
        lines.push_back({"whole process, resident", resident});
    }
    if (snapshot.process_peak_bytes > 0)
        lines.push_back({"  most so far", snapshot.process_peak_bytes, 0, 0,
                         "highest resident size since the program started"});
    if (snapshot.machine_bytes > 0) lines.push_back({"machine", snapshot.machine_bytes});
    draw_lines("##host", lines);
}

void draw_device(const Snapshot& snapshot, const std::vector<MemoryUse>& rows) {
    const std::uint64_t total = sum_of(rows);
    const auto& whole = snapshot.device_memory;
    // Device memory: ours by category, other use (other processes, the driver), and free memory.
    const std::uint64_t taken =
        whole ? whole->total_bytes - std::min(whole->free_bytes, whole->total_bytes) : 0;
    if (whole && whole->total_bytes > 0)
        share_bar(rows, static_cast<double>(whole->total_bytes),
                  static_cast<double>(taken - std::min(taken, total)));
    else
        share_bar(rows, static_cast<double>(total));
    std::vector<MemoryLine> lines = lines_of(rows, total);
    lines.push_back({"sum of these", total});
    if (!whole) return draw_lines("##device", lines);
    lines.push_back({"held by gausscope", whole->held_bytes, 0, 0,
                     "all device memory allocated by this process"});
    lines.push_back({"used in total", taken, theme().faint, whole->total_bytes,
                     "by every process, and by the driver"});
    lines.push_back({"free", whole->free_bytes, theme().field, whole->total_bytes});
    lines.push_back({snapshot.device.empty() ? "device" : snapshot.device, whole->total_bytes});
    draw_lines("##device", lines);
}

std::string memory_csv(std::vector<MemoryUse> rows, const std::vector<MemoryUse>& device) {
    rows.insert(rows.end(), device.begin(), device.end());
    return table_csv(table_of<MemoryUse>(
        std::span(rows),
        {{"where", "", nullptr, [](const MemoryUse& r) { return r.device ? "device" : "host"; }},
         {"category", "", nullptr, &MemoryUse::category},
         {"bytes", "", nullptr, &MemoryUse::bytes},
         {"most_in_use", "", nullptr,
          [](const MemoryUse& r) { return r.peak > 0 ? TableCell(r.peak) : TableCell(); }}}));
}

std::vector<MemoryUse> known_memory(const Snapshot& snapshot, bool on_device) {
    std::vector<MemoryUse> out;
    if (snapshot.scene)
        for (const MemoryUse& row : snapshot.scene->memory)
            if (row.device == on_device) out.push_back(row);
    if (snapshot.trace && !on_device) out.push_back({"measurements", snapshot.trace->bytes()});
    return out;
}

constexpr double kMiB = 1 << 20;
using Point = MemoryHistory::Point;

std::vector<CurvePoint> curve_of(const MemoryHistory& history, std::uint64_t Point::*of) {
    std::vector<CurvePoint> out;
    for (const Point& point : history.points())
        if (point.*of > 0)
            out.push_back({static_cast<float>(point.seconds),
                           static_cast<float>(static_cast<double>(point.*of) / kMiB)});
    return out;
}

void draw_history(const MemoryHistory& history, PlotRange& range) {
    const auto process = curve_of(history, &Point::process),
               known = curve_of(history, &Point::known), device = curve_of(history, &Point::device);
    std::vector<PlotLine> lines;
    const auto line = [&](const char* name, std::size_t color,
                          const std::vector<CurvePoint>& points) {
        if (points.size() > 1) lines.push_back({name, category_color(color), points});
    };
    line("whole process", 1, process);
    line("sum of the categories", 0, known);
    line("held on the GPU", 2, device);
    if (lines.empty()) return dim_text("A curve appears after a few seconds");
    if (ImGui::SmallButton("Copy curves")) ImGui::SetClipboardText(curves_csv(lines).c_str());
    tooltip("As CSV: seconds, MiB");
    const PlotLook look{.title = "memory",
                        .unit = "MiB",
                        .x_name = "seconds",
                        .from_zero = true,
                        .height = 11 * em()};
    const auto& points = history.points();
    range.begin(points.front().seconds, points.back().seconds);
    plot("##memory over time", lines, look, range);
}

/// MiB in the unit of a counter whose name says an amount of memory ("memory used [MiB]",
/// "device memory used (GiB)"); 0: it is no such counter.
double mib_in_unit(std::string_view name) {
    const auto holds = [&](std::string_view word) {
        return name.find(word) != std::string_view::npos;
    };
    if (!holds("memory")) return 0;
    return holds("GiB")     ? 1024
           : holds("MiB")   ? 1
           : holds("KiB")   ? 1.0 / 1024
           : holds("bytes") ? 1 / kMiB
                            : 0;
}

/// Values of one memory counter, MiB over seconds.
struct MemoryCounter {
    std::string name;
    std::vector<CurvePoint> points;
    double most = 0, newest = 0;
};

std::vector<MemoryCounter> memory_counters(const TraceStore& trace) {
    std::vector<MemoryCounter> out;
    for (const CounterSeries& series : trace.counters()) {
        const double unit = mib_in_unit(trace.name(series.name));
        if (unit == 0 || series.points.empty()) continue;
        MemoryCounter& one = out.emplace_back();
        one.name = trace.name(series.name);
        for (const CounterPoint& point : series.points.view()) {
            const double seconds = 1e-9 * static_cast<double>(point.time_ns - trace.origin_ns());
            one.newest = unit * point.value;
            one.points.push_back({static_cast<float>(seconds), static_cast<float>(one.newest)});
            one.most = std::max(one.most, one.newest);
        }
    }
    return out;
}

/// The memory counters of a trace file or an attached process.
void draw_of_trace(const TraceEntry& entry, const TraceStore& trace, PlotRange& range) {
    const std::vector<MemoryCounter> known = memory_counters(trace);
    dim_text("of " + fitted(entry.name, ImGui::GetContentRegionAvail().x - 2 * em()));
    if (known.empty()) return empty_note("This trace has no memory counters");
    const auto bytes = [](double mib) {  // of a file: any number
        return static_cast<std::uint64_t>(mib > 0 ? std::min(mib, 1e12) * kMiB : 0);
    };
    std::vector<PlotLine> lines;
    std::vector<MemoryLine> rows;
    for (std::size_t i = 0; i < known.size(); ++i) {
        rows.push_back({known[i].name, bytes(known[i].newest), category_color(i)});
        rows.push_back({"  most so far", bytes(known[i].most)});
        lines.push_back({known[i].name, category_color(i), known[i].points});
    }
    draw_lines("##trace", rows);
    PlotLook look;
    look.title = "memory", look.unit = "MiB", look.x_name = "seconds";
    look.from_zero = true;
    look.height = 11 * em();
    range.begin(1e-9 * static_cast<double>(trace.begin_ns() - trace.origin_ns()),
                1e-9 * static_cast<double>(trace.end_ns() - trace.origin_ns()));
    plot("##memory of the trace", lines, look, range);
}

}  // namespace

std::uint64_t host_memory_known(const Snapshot& snapshot) {
    return sum_of(known_memory(snapshot, false));
}

void MemoryPanel::draw(const Snapshot& snapshot, Commands&) {
    const TraceEntry* entry = snapshot.shown_entry();
    if (entry && !entry->own && entry->store)
        return draw_of_trace(*entry, *entry->store, over_time);
    const std::vector<MemoryUse> host = known_memory(snapshot, false),
                                 device = known_memory(snapshot, true);
    const bool on_device = !device.empty() || snapshot.device_memory.has_value();
    if (sum_of(host) == 0 && !on_device && snapshot.process_bytes == 0) {
        empty_note("Open a scene to see its memory here");
        return;
    }
    if (ImGui::Button("Copy CSV")) ImGui::SetClipboardText(memory_csv(host, device).c_str());
    if (on_device && section("GPU")) draw_device(snapshot, device);
    if (!on_device || section("Host")) draw_host(snapshot, host);
    if (section("Over time")) draw_history(snapshot.memory_history, over_time);
}

}  // namespace gs
