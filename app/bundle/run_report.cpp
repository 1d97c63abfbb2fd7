#include "app/bundle/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/bundle/notes_file.h"
#include "app/paths/path_contents.h"
#include "base/format.h"
#include "base/json_text.h"
#include "renderer/doctor/doctor.h"
#include "trainer/run/run_pictures.h"
#include "trainer/run/time_lapse.h"

namespace gs {
namespace {

using MetricsJson = nlohmann::json;
constexpr std::uint64_t kLargestMetrics = 64 << 20;  // bytes

double number_in(const MetricsJson& from, const char* key) {
    const MetricsJson& value = member(from, key);
    return value.is_number() ? value.get<double>() : std::nan("");
}
std::string text_in(const MetricsJson& from, const char* key) {
    const MetricsJson& value = member(from, key);
    return value.is_string() ? value.get<std::string>() : "";
}

std::string title_of_thumbnail(const fs::path& file) {
    return file.stem() == "last" ? "from the last camera" : "the render of a photo";
}

class RunReporter {
  public:
    RunReporter(const RunContents& run, Report& out) : run_(run), out_(out) {}

    void add_all(bool examine) {
        read();
        add_facts();
        add_pictures();
        add_curves();
        add_photos();
        add_stages();
        add_settings();
        add_notes();
        if (examine) add_findings();
        std::string missing;
        for (const std::string& what : missing_) missing += (missing.empty() ? "" : "; ") + what;
        if (!missing.empty()) out_.subtitle += " (" + missing + ")";
    }

  private:
    void miss(const Error& error) {
        missing_.push_back(fs::path(error.path).filename().string() + " " + error.message);
    }
    void read() {
        if (auto described = read_run_description(run_.folder))
            description_ = std::move(*described);
        else
            miss(described.error());
        const fs::path file = run_.folder / "metrics.json";
        const auto bytes = read_file(file, kLargestMetrics);
        if (!bytes) return miss(bytes.error());
        if (auto json = parse_json_object(*bytes, file.string()))
            metrics_ = std::move(*json);
        else
            miss(json.error());
    }
    void fact(const char* label, std::string value) {
        if (!value.empty() && value != "-") out_.facts.emplace_back(label, std::move(value));
    }
    void add_facts() {
        const double steps = number_in(metrics_, "steps");
        fact("capture", description_.capture);
        fact("backend", text_in(metrics_, "backend"));
        fact("steps", format_count(steps));
        fact("Gaussians", format_count(number_in(metrics_, "gaussians")));
        fact("training", format_duration(number_in(metrics_, "seconds")));
        const MetricsJson &test = member(metrics_, "test"), &train = member(metrics_, "train");
        fact("test PSNR", format_db(number_in(test, "psnr")));
        fact("test SSIM", format_number(number_in(test, "ssim"), 4));
        fact("train loss", format_number(number_in(train, "loss"), 4));
        if (!description_.parent.empty())
            fact("branched from",
                 fmt::format("{} at step {}", description_.parent, description_.parent_step));
        const MetricsJson& interrupted = member(metrics_, "interrupted");
        if (interrupted.is_boolean() && interrupted.get<bool>())
            fact("ended", "before its last step");
    }
    void add_pictures() {
        for (const fs::path& file : thumbnail_files(run_.folder))
            if (auto picture = report_picture(title_of_thumbnail(file), file))
                out_.pictures.push_back(std::move(*picture));
    }
    void add_curves() {
        StepLog steps;
        steps.take_earlier(run_.folder / "metrics.csv", ~std::uint64_t{0});
        if (steps.rows().empty()) missing_.push_back("metrics.csv has no steps");
        ReportPlot loss{"loss", "", {{"", {}}}, {}, true}, psnr{"PSNR", "dB", {{"train", {}}}},
            count{"Gaussians", "", {{"", {}}}, {}, true}, time{"step", "ms", {{"", {}}}, {}, true};
        for (const StepReport& row : steps.rows()) {
            const auto step = static_cast<double>(row.step);
            loss.lines[0].points.emplace_back(step, row.loss);
            psnr.lines[0].points.emplace_back(step, row.psnr);
            count.lines[0].points.emplace_back(step, static_cast<double>(row.gaussians));
            time.lines[0].points.emplace_back(step, row.milliseconds);
        }
        ReportPlot::Line test{"test", {}};
        for (const Evaluation& e : description_.evaluations)
            test.points.emplace_back(static_cast<double>(e.step), e.psnr);
        if (!test.points.empty()) psnr.lines.push_back(std::move(test));
        for (ReportPlot* plot : {&loss, &psnr, &count, &time}) {
            for (const RunMark& mark : description_.marks)
                plot->marks.push_back({static_cast<double>(mark.step), mark.text, mark.alarm});
            out_.plots.push_back(std::move(*plot));
        }
        ReportTable marks{"What happened", {"what", "at step"}, {}, true};
        for (const RunMark& mark : description_.marks)
            marks.rows.push_back({mark.text, format_count(static_cast<double>(mark.step))});
        out_.tables.push_back(std::move(marks));
    }
    void add_photos() {
        ReportTable table{"Photos held out", {"photo", "PSNR", "SSIM", "L1"}, {}, true};
        const MetricsJson& images = member(member(metrics_, "test"), "images");
        if (!images.is_array()) return;
        for (const MetricsJson& image : images)
            table.rows.push_back({text_in(image, "name"), format_db(number_in(image, "psnr")),
                                  format_number(number_in(image, "ssim"), 4),
                                  format_number(number_in(image, "l1"), 3)});
        out_.tables.push_back(std::move(table));
    }
    void add_stages() {
        ReportTable table{
            "Stages of a step", {"stage", "mean", "median", "95 %", "share", "samples"}, {}};
        const MetricsJson& stages = member(metrics_, "stages");
        if (!stages.is_array()) return;
        for (const MetricsJson& stage : stages)
            table.rows.push_back({text_in(stage, "name"), format_ms(number_in(stage, "ms_mean")),
                                  format_ms(number_in(stage, "ms_p50")),
                                  format_ms(number_in(stage, "ms_p95")),
                                  format_share(number_in(stage, "share")),
                                  format_count(number_in(stage, "samples"))});
        out_.tables.push_back(std::move(table));
    }
    void add_settings() {
        ReportTable table{"Settings", {"setting", "value"}, {}, true};
        const MetricsJson& settings = member(metrics_, "settings");
        if (!settings.is_object()) return;
        for (const auto& [name, value] : settings.items())
            if (value.is_number())
                table.rows.push_back({name, format_number(value.get<double>(), 6)});
        out_.tables.push_back(std::move(table));
    }
    void add_notes() {
        auto notes = read_notes(run_.folder / "notes.json");
        if (!notes) return miss(notes.error());
        for (const Note& note : *notes) out_.notes.push_back(note_line(note));
    }
    void add_findings() {
        const auto model = read_any_splats(find_contents(run_.folder));
        if (!model) return miss(model.error());
        out_.findings = gs::examine(model->model, {.notes = model->notes}).findings;
        out_.examined = true;
    }

    const RunContents& run_;
    Report& out_;
    RunDescription description_;
    MetricsJson metrics_ = MetricsJson::object();
    std::vector<std::string> missing_;
};

}  // namespace

Result<Report> report_of_run(const fs::path& folder, bool examine) {
    std::error_code error;
    if (!fs::exists(folder, error))
        return fail(ErrorKind::not_found, folder.string(), "no such folder");
    const auto run = run_in(folder);
    if (!run)
        return fail(ErrorKind::usage, folder.string(), "contains no training run",
                    "give the folder that `gausscope train -o` wrote");
    Report out;
    const fs::path whole = fs::absolute(folder, error).lexically_normal();
    out.title = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
    out.subtitle = "A training run";
    out.made = made_by();
    RunReporter(*run, out).add_all(examine);
    return out;
}

}  // namespace gs
