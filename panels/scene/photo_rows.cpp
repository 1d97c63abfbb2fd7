#include "panels/scene/photo_rows.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/nth.h"
#include "base/table.h"
#include "panels/widgets/fuzzy.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::size_t kFewest = 5;

/// What was not measured comes last in either direction.
bool comes_before(const CameraRow& a, const CameraRow& b, PhotoKey key, bool descending) {
    if (key == PhotoKey::name) return descending ? b.name < a.name : a.name < b.name;
    return sorts_before(value_of(a, key), value_of(b, key), descending);
}

}  // namespace

double value_of(const CameraRow& row, PhotoKey key) {
    switch (key) {
        case PhotoKey::split:
            return row.test ? 1 : 0;
        case PhotoKey::psnr:
            return row.psnr;
        case PhotoKey::ssim:
            return row.ssim;
        case PhotoKey::loss:
            return row.loss;
        case PhotoKey::step:
            return row.measured_step > 0 || std::isfinite(row.psnr)
                       ? static_cast<double>(row.measured_step)
                       : std::numeric_limits<double>::quiet_NaN();
        default:
            return row.times_sampled;
    }
}

std::vector<const CameraRow*> sorted_rows(const std::vector<CameraRow>& rows,
                                          std::string_view filter, bool test_only, PhotoKey key,
                                          bool descending) {
    std::vector<const CameraRow*> out;
    for (const CameraRow& row : rows)
        if ((!test_only || row.test) && contains_text(row.name, filter)) out.push_back(&row);
    std::stable_sort(out.begin(), out.end(), [&](const CameraRow* a, const CameraRow* b) {
        return comes_before(*a, *b, key, descending);
    });
    return out;
}

void order_choice(Commands& commands, const char* command, PhotoKey key, bool descending) {
    const char* const name = kPhotoKeyNames[static_cast<std::size_t>(key)];
    ImGui::SetNextItemWidth(5.5F * em());
    if (ImGui::BeginCombo("##sort", sentence(name).c_str())) {
        for (const char* const other : kPhotoKeyNames)
            if (ImGui::Selectable(sentence(other).c_str(), other == name))
                commands.push(command, {other, descending ? "down" : "up"});
        ImGui::EndCombo();
    }
    tooltip("Sort the photos by this value");
    ImGui::SameLine(0, 2);
    if (ImGui::Button(descending ? "Largest first" : "Smallest first"))
        commands.push(command, {name, descending ? "up" : "down"});
    tooltip("Reverse the order");
}

PsnrOutliers::PsnrOutliers(const std::vector<CameraRow>& rows) {
    for (const bool test : {false, true}) {
        std::vector<double> values;
        for (const CameraRow& row : rows)
            if (row.test == test && std::isfinite(row.psnr)) values.push_back(row.psnr);
        double& limit = below[test ? 1 : 0];
        limit = -std::numeric_limits<double>::infinity();
        median[test ? 1 : 0] = std::numeric_limits<double>::quiet_NaN();
        if (values.size() < kFewest) continue;
        const double center = median[test ? 1 : 0] = upper_median(values);
        for (double& value : values) value = std::abs(value - center);
        limit = center - std::max(3 * 1.4826 * upper_median(values), 1.0);
    }
}

std::string words_of_outlier(const CameraRow& row, const PsnrOutliers& outliers) {
    return fmt::format("{:.1f} dB below the median of the {} photos",
                       outliers.median[row.test ? 1 : 0] - row.psnr,
                       row.test ? "test" : "training");
}

}  // namespace gs
