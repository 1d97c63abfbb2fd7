#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "panels/widgets/plot.h"

namespace gs {
namespace {

std::vector<double> decades(double lo, double hi, int count) {
    std::vector<double> ticks;
    const int first = static_cast<int>(std::floor(std::log10(lo))),
              last = static_cast<int>(std::ceil(std::log10(hi)));
    const int stride = std::max(1, (last - first) / std::max(count, 1));
    for (int k = first; k <= last; k += stride)
        for (const double digit : {1.0, 2.0, 5.0}) {
            if (digit > 1 && last - first > std::max(2, count / 2)) break;
            const double tick = digit * std::pow(10.0, k);
            if (tick >= lo * (1 - 1e-9) && tick <= hi * (1 + 1e-9)) ticks.push_back(tick);
        }
    return ticks;
}

}  // namespace

std::vector<double> plot_ticks(double lo, double hi, int count, bool logarithmic) {
    std::vector<double> ticks;
    if (!(hi > lo) || !std::isfinite(hi - lo) || count < 1) return ticks;
    if (logarithmic && lo > 0) {
        ticks = decades(lo, hi, count);
        if (ticks.size() >= 2) return ticks;
        ticks.clear();  // less than a decade: round values serve better
    }
    const double raw = (hi - lo) / count;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    const double step = power * (raw / power > 5   ? 10
                                 : raw / power > 2 ? 5
                                 : raw / power > 1 ? 2
                                                   : 1);
    if (!(step > 0) || !std::isfinite(step)) return ticks;
    for (double k = std::ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step && ticks.size() < 64;
         ++k) {
        if (!ticks.empty() && k * step <= ticks.back()) break;  // beyond the precision of doubles
        ticks.push_back(k == 0 ? 0 : k * step);
    }
    // Round values that all lie outside: an axis without one says nothing.
    if (ticks.size() < 2 && count < 4) return plot_ticks(lo, hi, 2 * count, logarithmic);
    return ticks;
}

std::string tick_label(double value, double step) {
    const double size = std::max(std::abs(value), std::abs(step));
    if (size != 0 && (size < 1e-4 || size >= 1e12)) return fmt::format("{:.3g}", value);
    if (size == 0 || value == 0) return "0";
    if (size >= 1e4 && size < 1e6 && std::abs(step) >= 1 && std::abs(step) < 1000)
        return format_count(value);
    const char* suffix = "";
    if (size >= 1e9)
        value /= 1e9, step /= 1e9, suffix = "G";
    else if (size >= 1e6)
        value /= 1e6, step /= 1e6, suffix = "M";
    else if (size >= 1e4)
        value /= 1e3, step /= 1e3, suffix = "k";
    const double unit = std::abs(step) > 0 ? std::abs(step) : 1;
    const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(unit) - 1e-6)), 0, 8);
    return fmt::format("{:.{}f}{}", value, digits, suffix);
}

std::string curves_csv(std::span<const PlotLine> lines) {
    std::map<float, std::vector<float>> rows;
    std::string out = "step";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        out += "," + csv_cell(lines[i].name);
        for (const CurvePoint& point : lines[i].points) {
            auto& row = rows[point.step];
            row.resize(lines.size(), std::numeric_limits<float>::quiet_NaN());
            row[i] = point.value;
        }
    }
    out += "\n";
    for (const auto& [step, values] : rows) {
        out += fmt::format("{}", step);
        for (const float value : values)
            out += "," + (std::isfinite(value) ? fmt::format("{}", value) : std::string());
        out += "\n";
    }
    return out;
}

}  // namespace gs
