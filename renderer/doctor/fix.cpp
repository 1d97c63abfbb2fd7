// Fixing: repeated until nothing is left, because removals change the box that sizes are judged by.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/try.h"
#include "renderer/doctor/activated.h"
#include "renderer/doctor/rows.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/values.h"
#include "renderer/scene/crop.h"

namespace gs {
namespace {

using namespace doctor;

constexpr std::size_t kGrain = 16384;

using Changes = std::map<std::string, std::uint64_t>;  // what -> how many Gaussians

GaussianModel rows_kept(const GaussianModel& model, const std::vector<std::uint8_t>& gone) {
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < model.count; ++i)
        if (gone[i] == 0) kept.push_back(static_cast<std::uint32_t>(i));
    return gathered(model, kept);
}

void repair_row(GaussianModel& m, std::size_t i, Repair repair) {
    if (repair == Repair::raise_sizes)
        for (int p = kLogScales; p < kQuats; ++p)
            if (m.at(p, i) < kSmallestLogScale) m.at(p, i) = kRaisedLogScale;
    if (repair == Repair::normalise) {
        const UnitQuat unit = unit_quat(m.at(kQuats, i), m.at(kQuats + 1, i), m.at(kQuats + 2, i),
                                        m.at(kQuats + 3, i));
        for (int c = 0; c < 4; ++c) m.at(kQuats + c, i) = unit.q[c];
    }
}

class Fixer {
  public:
    Fixer(const GaussianModel& model, std::span<const std::string> ids)
        : model_(model), ids_(ids) {}
    /// False when there was nothing left to do, or the meter was cancelled.
    bool round(Meter& meter);
    /// What a round adds to its meter.
    std::size_t marks() const {
        return (kScanMarks + (wanted("duplicates") ? kRepeatMarks : 0)) * model_.count;
    }
    Fixed result() {
        Fixed out{std::move(model_), {}};
        for (const auto& [what, n] : changes_)
            out.changes.push_back(fmt::format("{} {}", counted(n, "Gaussian"), what));
        out.changes.insert(out.changes.end(), notes_.begin(), notes_.end());
        return out;
    }

  private:
    bool wanted(std::string_view id) const {
        return ids_.empty() || std::find(ids_.begin(), ids_.end(), id) != ids_.end();
    }
    bool fix_rows(const std::vector<std::uint16_t>& faults);
    bool remove_copies(Meter& meter);
    bool undo_activations(const SceneBox& box);

    GaussianModel model_;
    std::span<const std::string> ids_;
    Changes changes_;
    std::vector<std::string> notes_;
};

bool Fixer::fix_rows(const std::vector<std::uint16_t>& faults) {
    std::vector<std::uint8_t> gone(model_.count, 0);
    bool removed = false, changed = false;
    for (std::size_t i = 0; i < model_.count; ++i) {
        if (faults[i] == 0) continue;
        for (unsigned f = 0; f < kRowFaults; ++f) {
            const RowRule& rule = row_rules()[f];
            if ((faults[i] >> f & 1u) == 0 || rule.repair == Repair::none || !wanted(rule.id) ||
                gone[i] != 0)
                continue;
            ++changes_[rule.repaired];
            changed = true;
            if (rule.repair == Repair::remove)
                gone[i] = 1, removed = true;
            else
                repair_row(model_, i, rule.repair);
        }
    }
    if (removed) model_ = rows_kept(model_, gone);
    return changed;
}

bool Fixer::remove_copies(Meter& meter) {
    if (!wanted("duplicates")) return false;
    const Repeats repeats = find_repeats(model_, meter);
    if (repeats.copies.empty() || meter.cancelled()) return false;
    std::vector<std::uint8_t> gone(model_.count, 0);
    for (const std::uint32_t row : repeats.copies) gone[row] = 1;
    changes_["removed as copies"] += repeats.copies.size();
    model_ = rows_kept(model_, gone);
    return true;
}

bool Fixer::undo_activations(const SceneBox& box) {
    Activated found = activated_values(model_, box);
    found.opacities = found.opacities && wanted(kActivatedOpacities);
    found.sizes = found.sizes && wanted(kActivatedSizes);
    if (found.opacities) changes_["given logits of their opacities"] += model_.count;
    if (found.sizes) changes_["given logarithms of their sizes"] += model_.count;
    undo_activation(model_, found);
    return found.opacities || found.sizes;
}

bool Fixer::round(Meter& meter) {
    std::vector<std::uint16_t> faults;
    const RowScan scan = scan_rows(model_, 1, 1, &faults, meter);
    if (meter.cancelled()) return false;
    if (undo_activations(scan.box)) return true;
    bool changed = fix_rows(faults);
    changed = remove_copies(meter) || changed;
    if (!changed && model_.count > 0 && scan.used_degree < model_.sh_degree &&
        wanted("unused-harmonics")) {
        notes_.push_back(fmt::format("degree of the harmonics lowered from {} to {}",
                                     model_.sh_degree, scan.used_degree));
        model_ = model_.resized(model_.count, scan.used_degree);
        changed = true;
    }
    return changed;
}

}  // namespace

// Every round removes rows or repairs what stays repaired, so this ends.
Fixed fix(const GaussianModel& model, std::span<const std::string> ids) {
    Fixer fixer(model, ids);
    for (Meter meter; fixer.round(meter);) {
    }
    return fixer.result();
}

Result<Fixed> fix(const GaussianModel& model, std::span<const std::string> ids,
                  const Progress& progress) {
    Fixer fixer(model, ids);
    for (bool more = true; more;) {
        GS_TRY_VOID(run_metered(progress, fixer.marks(), [&](Meter& meter) -> Result<void> {
            more = fixer.round(meter);
            return {};
        }));
    }
    return fixer.result();
}

}  // namespace gs
