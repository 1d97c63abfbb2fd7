#include "app/session/parts/lab_reading.h"

#include <algorithm>
#include <set>

#include "app/lab/compare_runs.h"
#include "app/lab/lab_file.h"
#include "base/try.h"

namespace gs {
namespace {

LabRunRow lab_row_of(const lab::LabRun& run) {
    LabRunRow row{.id = run.id};
    row.label = run.of.label, row.suite = run.of.suite, row.scene = run.of.scene;
    row.settings = run.of.settings, row.backend = run.of.backend, row.seed = run.of.seed;
    row.failed = run.failed, row.error = run.error;
    row.psnr = run.psnr();
    row.gaussians = run.value_of("Gaussians"), row.training_s = run.value_of("training");
    if (folder_exists(run.folder)) row.folder = run.folder;
    row.capture = run.capture;
    for (const lab::LabPhoto& photo : run.photos)
        if (!(photo.psnr >= row.worst_psnr) && photo.psnr == photo.psnr)
            row.worst_photo = photo.name, row.worst_psnr = photo.psnr;
    return row;
}

LabComparison lab_comparison_of(const lab::RunComparison& from) {
    LabComparison out;
    out.a = from.a, out.b = from.b, out.pairs = from.pairs, out.notes = from.notes;
    for (const lab::MetricRow& m : from.metrics)
        out.metrics.push_back({m.metric, m.unit, m.relative, m.a, m.b, m.difference.mean,
                               m.difference.low, m.difference.high, m.verdict});
    for (const lab::GateRow& g : from.gates)
        out.gates.push_back({g.gate.text, lab::name_of(g.state)});
    for (const lab::PhotoChange& p : from.worst)
        out.worst.push_back({p.scene, p.photo, p.run_a, p.run_b, p.psnr_a, p.psnr_b});
    return out;
}

Result<LabComparison> compared_runs(const lab::LabFile& file, const std::vector<lab::LabRun>& runs,
                                    const std::string& a, const std::string& b) {
    GS_TRY(const lab::RunSelection first, lab::select_runs(runs, a));
    GS_TRY(const lab::RunSelection second, lab::select_runs(runs, b));
    GS_TRY(const std::vector<lab::Gate> gates, lab::gates_of(file, second.runs));
    GS_TRY(const lab::RunComparison compared, lab::compare_runs(first, second, gates));
    return lab_comparison_of(compared);
}

}  // namespace

Result<LabReading> read_lab(const fs::path& database,
                            const std::optional<std::pair<std::string, std::string>>& compared) {
    GS_TRY(const lab::LabFile file, lab::LabFile::open_to_read(database));
    GS_TRY(const std::vector<lab::LabRun> runs, file.runs());
    LabReading out;
    std::set<std::string> labels, settings, backends;
    for (const lab::LabRun& run : runs) {
        out.runs.push_back(lab_row_of(run));
        labels.insert(run.of.label);
        settings.insert(run.of.settings);
        backends.insert(run.of.backend);
    }
    std::reverse(out.runs.begin(), out.runs.end());
    for (const auto* names : {&labels, &settings, &backends})
        if (names->size() > 1) out.names.insert(out.names.end(), names->begin(), names->end());
    if (!compared) return out;
    auto done = compared_runs(file, runs, compared->first, compared->second);
    if (done)
        out.compared = std::move(*done);
    else
        out.not_compared = done.error().text();
    return out;
}

}  // namespace gs
