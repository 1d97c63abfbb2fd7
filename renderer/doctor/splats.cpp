#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/format.h"
#include "base/list_growth.h"
#include "base/try.h"
#include "renderer/doctor/activated.h"
#include "renderer/doctor/rows.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/splat_origin.h"

namespace gs {
namespace doctor {

const std::array<RowRule, kRowFaults>& row_rules() {
    constexpr const char* kNothing = "they are not drawn, and some other programs fail on them";
    constexpr const char* kBroken =
        "a fix removes them; many of them mean a damaged file or a run that diverged";
    constexpr auto kError = Severity::error, kWarning = Severity::warning, kNote = Severity::note;
    static constexpr const char* kRemoved = "with non-numeric values removed";
    static const std::array<RowRule, kRowFaults> rules{{
        {"not-finite-positions", kError, "have a position that is NaN or infinite", kNothing,
         kBroken, Repair::remove, kRemoved},
        {"not-finite-sizes", kError, "have a size that is NaN or infinite", kNothing, kBroken,
         Repair::remove, kRemoved},
        {"not-finite-rotations", kError, "have a rotation that is NaN or infinite", kNothing,
         kBroken, Repair::remove, kRemoved},
        {"not-finite-opacities", kError, "have an opacity that is NaN", kNothing, kBroken,
         Repair::remove, kRemoved},
        {"not-finite-colors", kError, "have a colour that is NaN or infinite", kNothing, kBroken,
         Repair::remove, kRemoved},
        {"not-finite-harmonics", kError, "have harmonics that are NaN or infinite", kNothing,
         kBroken, Repair::remove, kRemoved},
        {"degenerate-rotations", kWarning,
         "have a quaternion of length zero, or too long to be squared",
         "they are not drawn here; other programs differ",
         "a fix normalises them; length zero becomes no rotation", Repair::normalise,
         "given a quaternion of length one"},
        {"zero-sizes", kNote, "have an axis whose size is zero in single precision",
         "they are drawn as flat as possible, and training cannot change that axis",
         "a fix makes the axis 1e-13 long, which looks the same", Repair::raise_sizes,
         "given a size that single precision can hold"},
        {"huge-sizes", kWarning, "are more than 1000 times as large as the scene",
         "they cover every picture and cost time in every tile", "a fix removes them",
         Repair::remove, "larger than 1000 scenes removed"},
        {"outliers", kWarning, "are more than 10 extents away from the scene",
         "framing and formats that quantise positions become less accurate",
         "select and delete them if they are noise", Repair::none, ""},
        {"needles", kNote, "are needles: the longest axis over 100 times the middle one",
         "they look like streaks close up and from new directions",
         "train with more views, or with a lower learning rate for scales", Repair::none, ""},
        {"blobs", kNote, "are blobs: a standard deviation of more than 10 % of the scene",
         "each covers much of a picture: slow, and hazy from inside",
         "usual for sky and far walls; elsewhere, select and delete them", Repair::none, ""},
        {"invisible", kNote, "are too transparent to be drawn (opacity below 1/255)",
         "they waste memory and time", "a fix removes them; the picture stays the same",
         Repair::remove, "too transparent to be drawn removed"},
    }};
    return rules;
}

}  // namespace doctor

namespace {

using namespace doctor;

constexpr const char *kDuplicates = "duplicates", *kSharedPositions = "shared-positions";

std::vector<std::string> row_names(const std::vector<std::size_t>& rows) {
    std::vector<std::string> out;
    for (const std::size_t row : rows) out.push_back(fmt::format("#{}", row));
    return out;
}

void add_row_findings(const RowScan& scan, std::vector<Finding>& out) {
    for (std::size_t f = 0; f < kRowFaults; ++f) {
        const FaultTally& tally = scan.faults[f];
        const RowRule& rule = row_rules()[f];
        if (tally.count > 0)
            out.push_back({rule.id, rule.severity, counted(tally.count, "Gaussian", rule.what),
                           tally.count, row_names(tally.rows), rule.consequence, rule.advice,
                           rule.repair != Repair::none, true});
    }
}

void add_repeats(const GaussianModel& model, Meter& meter, std::vector<Finding>& out) {
    const Repeats repeats = find_repeats(model, meter);
    const auto examples = [](const std::vector<std::uint32_t>& rows) {
        return row_names({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                           rows.size(), kFindingExamples))});
    };
    if (!repeats.copies.empty())
        out.push_back({kDuplicates, Severity::warning,
                       counted(repeats.copies.size(), "Gaussian", "repeat an earlier one exactly"),
                       repeats.copies.size(), examples(repeats.copies),
                       "they double memory and time, and make the covered area too opaque",
                       "a fix removes the copies; compare the pictures: copies may be intended",
                       true, true});
    if (!repeats.places.empty())
        out.push_back({kSharedPositions, Severity::note,
                       counted(repeats.places.size(), "Gaussian",
                               "are at exactly the same position as an earlier one"),
                       repeats.places.size(), examples(repeats.places),
                       "their order in depth is arbitrary, so colours may differ between programs",
                       "nothing; usual in files that quantise positions", false, true});
}

void add_activated(const GaussianModel& model, const RowScan& scan, std::vector<Finding>& out) {
    const Activated found = activated_values(model, scan.box);
    const auto add = [&](const char* id, const char* what, const char* consequence,
                         const char* advice) {
        out.push_back({id, Severity::warning, what, model.count, {}, consequence, advice, true});
    };
    if (found.opacities)
        add(kActivatedOpacities, "all opacities are from 0 to 1, where logits are expected",
            "every Gaussian is drawn with an opacity of 0.5 to 0.73",
            "a fix takes them as opacities; compare the pictures");
    if (found.sizes)
        add(kActivatedSizes, "all sizes are above zero, where logarithms are expected",
            "every Gaussian is drawn far too large",
            "a fix takes them as sizes; compare the pictures");
}

void add_origin(const GaussianModel& model, std::vector<Finding>& out) {
    if (is_zero(model.origin)) return;
    out.push_back({"far-from-zero",
                   Severity::note,
                   fmt::format("coordinates are far from zero: the origin {} is subtracted",
                               text_of_origin(model.origin)),
                   1,
                   {},
                   "positions are shown relative to the origin; PLY, CSV, SOG and glTF keep it",
                   "nothing; other formats store positions relative to the origin",
                   false});
}

void add_scene_findings(const GaussianModel& model, const RowScan& scan,
                        std::vector<Finding>& out) {
    if (model.count == 0)
        out.push_back({"empty",
                       Severity::warning,
                       "it has no Gaussians",
                       1,
                       {},
                       "nothing is drawn",
                       "check where the file came from",
                       false});
    if (model.count > 0 && scan.used_degree < model.sh_degree)
        out.push_back({"unused-harmonics",
                       Severity::note,
                       fmt::format("harmonics of degree {} are stored, those above {} are all zero",
                                   model.sh_degree, scan.used_degree),
                       static_cast<std::uint64_t>(model.planes() - plane_count(scan.used_degree)),
                       {},
                       fmt::format("{} bytes wasted per Gaussian",
                                   4 * (model.planes() - plane_count(scan.used_degree))),
                       "a fix lowers the degree; the picture stays the same",
                       true});
    if (scan.box.extent > 0 &&
        (scan.box.extent < kSmallestScene || scan.box.extent > kLargestScene))
        out.push_back(
            {"world-scale",
             Severity::warning,
             fmt::format("the scene is {:.3g} units across", scan.box.extent),
             1,
             {},
             scan.box.extent < kSmallestScene
                 ? "other programs draw nothing closer to a camera than 0.01 or 0.2 units: most "
                   "pictures lack parts or are empty there"
                 : "far planes, the flying speed and quantising formats suit up to 100,000 units",
             "scale it to about metres",
             false});
}

// How many Gaussians fit, from what one more costs.
std::string what_fits(const MemoryPlan& plan, std::uint64_t needed, std::uint64_t available,
                      int degree) {
    const double share =
        static_cast<double>(available) / static_cast<double>(std::max<std::uint64_t>(needed, 1));
    std::string out =
        fmt::format("about {} Gaussians fit",
                    grouped(static_cast<std::size_t>(share * static_cast<double>(plan.gaussians))));
    if (degree > 0)
        out += fmt::format("; degree 0 saves {:.0f} % of the parameters",
                           100.0 * (1 - static_cast<double>(plane_count(0)) / plane_count(degree)));
    return out + "; smaller pictures need shorter lists";
}

void add_memory(const MemoryPlan& plan, const SplatQuestions& q, int degree, bool training,
                std::vector<Finding>& out) {
    constexpr double kGiB = 1024.0 * 1024 * 1024;
    const auto compare = [&](const char* id, const char* where, std::uint64_t needed,
                             std::uint64_t available) {
        if (available == 0 || needed <= available) return;
        out.push_back(
            {id,
             training ? Severity::note : Severity::warning,
             fmt::format(
                 "{} {} Gaussians at {} x {} takes about {:.1f} GiB, {:.1f} GiB are free {}",
                 training ? "training" : "viewing",
                 grouped(static_cast<std::size_t>(plan.gaussians)), q.width, q.height,
                 static_cast<double>(needed) / kGiB, static_cast<double>(available) / kGiB, where),
             1,
             {},
             "it will swap to disk or run out of memory",
             what_fits(plan, needed, available, degree) +
                 (training ? "; set --max-gaussians, or --downscale the photos" : ""),
             false});
    };
    // The model is in host memory already.
    compare(training ? "memory-host-training" : "memory-host", "in the machine",
            training ? plan.to_train() : plan.frame_view, q.host_bytes);
    compare(training ? "memory-device-training" : "memory-device", "on the device",
            training ? plan.to_train() : plan.to_view(), q.device_bytes);
}

SplatReport examine_metered(const GaussianModel& model, const SplatQuestions& questions,
                            Meter& meter) {
    SplatReport out;
    const RowScan scan = scan_rows(model, questions.width, questions.height, nullptr, meter);
    add_row_findings(scan, out.findings);
    add_repeats(model, meter, out.findings);
    add_activated(model, scan, out.findings);
    add_origin(model, out.findings);
    add_scene_findings(model, scan, out.findings);
    const double isects = model.count == 0 ? 0 : scan.isects / static_cast<double>(model.count);
    out.now = plan_memory(model.count, model.sh_degree, isects, questions.width, questions.height);
    out.at_cap = out.now;
    if (questions.cap > model.count) {
        const double more = static_cast<double>(questions.cap) /
                            static_cast<double>(std::max<std::uint64_t>(model.count, 1));
        out.at_cap = plan_memory(questions.cap, model.sh_degree, isects * list_growth(more) / more,
                                 questions.width, questions.height);
    }
    add_memory(out.now, questions, model.sh_degree, false, out.findings);
    if (questions.cap > 0) add_memory(out.at_cap, questions, model.sh_degree, true, out.findings);
    // What is no number was counted above, of the model as it is now.
    for (const std::string& note : questions.notes)
        if (!note.ends_with(kNotFiniteNote) && !is_origin_note(note))
            out.findings.push_back({"reader",
                                    Severity::note,
                                    note,
                                    1,
                                    {},
                                    "the model has only what the file contains",
                                    "nothing, if this is intended",
                                    false});
    std::ranges::stable_sort(out.findings, std::greater{}, &Finding::severity);
    return out;
}

}  // namespace

std::vector<std::uint8_t> rows_of_finding(const GaussianModel& model, std::string_view id) {
    Meter meter;
    if (id == kDuplicates || id == kSharedPositions) {
        const Repeats repeats = find_repeats(model, meter);
        std::vector<std::uint8_t> out(model.count, 0);
        for (const std::uint32_t row : id == kDuplicates ? repeats.copies : repeats.places)
            out[row] = 1;
        return out;
    }
    const auto& rules = row_rules();
    const auto rule = std::ranges::find_if(rules, [&](const RowRule& r) { return id == r.id; });
    if (rule == rules.end()) return {};
    std::vector<std::uint16_t> faults;
    scan_rows(model, 1, 1, &faults, meter);
    std::vector<std::uint8_t> out(model.count);
    std::transform(faults.begin(), faults.end(), out.begin(), [&](std::uint16_t bits) {
        return static_cast<std::uint8_t>(bits >> (rule - rules.begin()) & 1U);
    });
    return out;
}

SplatReport examine(const GaussianModel& model, const SplatQuestions& questions) {
    Meter meter;
    return examine_metered(model, questions, meter);
}

Result<SplatReport> examine(const GaussianModel& model, const SplatQuestions& questions,
                            const Progress& progress) {
    SplatReport out;
    GS_TRY_VOID(run_metered(progress, (kScanMarks + kRepeatMarks) * model.count,
                            [&](Meter& meter) -> Result<void> {
                                out = examine_metered(model, questions, meter);
                                return {};
                            }));
    return out;
}

}  // namespace gs
