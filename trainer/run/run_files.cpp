#include "trainer/run/run_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <new>

#include "base/exception_words.h"
#include "base/json_write.h"
#include "base/try.h"
#include "trainer/settings/settings.h"

namespace gs {
namespace {

/// Of metrics.csv. Runs made before rounds were kept lack the latter.
constexpr std::string_view kStepColumns =
    "step,loss,l1,ssim,psnr,milliseconds,gaussians,visible,isects,view,lr_means";
constexpr std::string_view kRoundColumns = ",target,cloned,split,added,relocated,pruned";
constexpr std::string_view kLidarColumn = ",lidar_m";  // not in older runs, either
constexpr std::size_t kNumbersBeforeRounds = 11, kNumbersBeforeLidar = 17, kLineNumbers = 18;

/// Field `index` of a row.
std::string_view field_at(std::string_view row, std::size_t index) {
    for (; index > 0; --index) row.remove_prefix(std::min(row.find(',') + 1, row.size()));
    return row.substr(0, std::min(row.find(','), row.size()));
}

/// The numbers of a row; NaN where a field is empty.
std::vector<double> fields_of(std::string_view row) {
    std::vector<double> out;
    while (true) {
        const std::size_t end = std::min(row.find(','), row.size());
        double value = kNotMeasured;
        std::from_chars(row.data(), row.data() + end, value);
        out.push_back(value);
        if (end == row.size()) return out;
        row.remove_prefix(end + 1);
    }
}

/// What a row of metrics.csv names as its view: of a batch "3:0.041:23.1;7:0.052:22", each photo
/// with its loss and PSNR as far as they are known.
std::string view_field(const StepReport& r) {
    if (r.photos.empty()) return fmt::format("{}", r.view);
    std::string out;
    for (const MeasuredPhoto& photo : r.photos)
        out += fmt::format("{}{}:{}:{}", out.empty() ? "" : ";", photo.view,
                           std::isfinite(photo.loss) ? fmt::format("{:.7g}", photo.loss) : "",
                           std::isfinite(photo.psnr) ? fmt::format("{:.5g}", photo.psnr) : "");
    return out;
}
/// The photos of such a field; none where it names one view alone.
std::vector<MeasuredPhoto> photos_of(std::string_view field) {
    std::vector<MeasuredPhoto> out;
    while (field.find(':') != std::string_view::npos) {
        std::string_view one = field.substr(0, std::min(field.find(';'), field.size()));
        field.remove_prefix(std::min(one.size() + 1, field.size()));
        double numbers[3] = {0, kNotMeasured, kNotMeasured};
        for (double& number : numbers) {
            const std::size_t end = std::min(one.find(':'), one.size());
            std::from_chars(one.data(), one.data() + end, number);
            one.remove_prefix(std::min(end + 1, one.size()));
        }
        if (!(numbers[0] >= 0 && numbers[0] < 1e15)) return {};
        out.push_back({static_cast<std::size_t>(numbers[0]), numbers[1], kNotMeasured, kNotMeasured,
                       numbers[2]});
    }
    return out;
}

/// What a round did, in the order of their columns.
constexpr std::size_t DensityReport::*kRoundFields[] = {
    &DensityReport::target, &DensityReport::cloned,    &DensityReport::split,
    &DensityReport::added,  &DensityReport::relocated, &DensityReport::pruned};

/// A row of metrics.csv; step 0: it is damaged.
StepReport report_of(std::string_view row) {
    StepReport r;
    const std::vector<double> f = fields_of(row);
    const auto count = [&](std::size_t i) {
        return f[i] >= 0 && f[i] < 1e15 ? static_cast<std::uint64_t>(f[i]) : 0;
    };
    if (f.size() != kLineNumbers && f.size() != kNumbersBeforeLidar &&
        f.size() != kNumbersBeforeRounds)
        return r;
    r.step = count(0);
    r.milliseconds = f[5];
    r.gaussians = count(6);
    r.photos = photos_of(field_at(row, 9));
    r.batch = static_cast<std::uint32_t>(std::max<std::size_t>(1, r.photos.size()));
    r.view = r.measured_view = r.photos.empty() ? count(9) : r.photos.back().view;
    r.lr_means = f[10];
    r.densified = f.size() > kNumbersBeforeRounds && std::isfinite(f[kNumbersBeforeRounds]);
    if (r.densified) {
        std::size_t at = kNumbersBeforeRounds;
        for (std::size_t DensityReport::*field : kRoundFields) r.round.*field = count(at++);
    }
    if (!std::isfinite(f[1])) return r;
    r.measured_step = r.step;
    r.loss = f[1];
    r.l1 = f[2];
    r.ssim = f[3];
    r.psnr = f[4];
    if (f.size() == kLineNumbers) r.lidar_m = f[kNumbersBeforeLidar];
    r.counters.visible = count(7);
    r.counters.isects = count(8);
    return r;
}

std::string row_of(const StepReport& r) {
    std::string measured = ",,,", counted = ",";
    if (r.measured_step != 0) {
        measured = fmt::format("{:.7g},{:.7g},{:.6g},{}", r.loss, r.l1, r.ssim,
                               std::isfinite(r.psnr) ? fmt::format("{:.5g}", r.psnr) : "");
        counted = fmt::format("{},{}", r.counters.visible, r.counters.isects);
    }
    std::string round;
    for (std::size_t DensityReport::*field : kRoundFields)
        round += r.densified ? fmt::format(",{}", r.round.*field) : ",";
    const std::string lidar = std::isfinite(r.lidar_m) ? fmt::format("{:.5g}", r.lidar_m) : "";
    return fmt::format("{},{},{:.4g},{},{},{},{:.6g}{},{}\n", r.step, measured, r.milliseconds,
                       r.gaussians, counted, view_field(r), r.lr_means, round, lidar);
}

fs::path rescue_folder() {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    return (error ? fs::path("/tmp") : base) / fmt::format("gausscope-rescue-{}", getpid());
}

}  // namespace

Result<void> write_into_folder(const fs::path& path, const WriteFile& write) {
    GS_TRY_VOID(make_folder(path.parent_path()));
    try {
        return write(path);
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::unwritable, path.string(), "not enough memory to write it");
    } catch (const std::exception& error) {
        return fail(ErrorKind::unwritable, path.string(), words_of(error));
    }
}

nlohmann::ordered_json score_json(const Evaluation& evaluation) {
    nlohmann::ordered_json images = nlohmann::ordered_json::array();
    for (const ImageScore& s : evaluation.images) {
        images.push_back({{"name", s.name},
                          {"psnr", json_number(s.psnr)},
                          {"ssim", json_number(s.ssim)},
                          {"l1", json_number(s.l1)},
                          {"psnr_fitted", json_number(s.psnr_fitted)}});
        if (s.counted < 1) images.back()["counted"] = json_number(s.counted);
    }
    nlohmann::ordered_json out{{"psnr", json_number(evaluation.psnr)},
                               {"ssim", json_number(evaluation.ssim)},
                               {"psnr_fitted", json_number(evaluation.psnr_fitted)},
                               {"images", std::move(images)}};
    if (const UnreadPhotos& unread = evaluation.unread; unread.count > 0)
        out["unread"] = {{"photos", unread.count}, {"first", unread.first}};
    return out;
}

nlohmann::ordered_json settings_json(const TrainingSettings& settings) {
    nlohmann::ordered_json out;
    for (const SettingField& field : setting_fields()) out[field.name] = field.of(settings);
    return out;
}

nlohmann::ordered_json appearance_json(const Trainer& trainer) {
    using Json = nlohmann::ordered_json;
    const AppearanceMode mode = trainer.settings().appearance;
    const AppearanceState learned = trainer.backend().appearance();
    if (learned.empty()) return nullptr;
    const AppearanceRows rows(trainer.capture());
    const auto values = [&](std::size_t first, int count) {
        Json list = Json::array();
        for (int i = 0; i < count; ++i)
            list.push_back(json_number(learned.values[first + static_cast<std::size_t>(i)]));
        return list;
    };
    Json out{{"mode", find_setting("appearance")->text(static_cast<double>(mode))},
             {"scores_through", mode == AppearanceMode::ppisp ? "camera" : "nothing"},
             {"photos", Json::array()},
             {"cameras", Json::array()}};
    for (std::size_t p = 0; p < rows.photos(); ++p) {
        const std::size_t view = rows.view_of_photo[p], at = p * math::kPhotoValues;
        out["photos"].push_back({{"name", trainer.capture().views[view].name},
                                 {"camera", rows.camera_of_view[view]},
                                 {"exposure", json_number(learned.values[at])},
                                 {"stops", stops_of_photo(learned.values.data() + at, mode)},
                                 {"colour", values(at + 1, math::kPhotoValues - 1)}});
    }
    for (std::uint32_t c = 0; mode == AppearanceMode::ppisp && c < rows.cameras; ++c) {
        Json vignette = Json::array(), curve = Json::array();
        for (int channel = 0; channel < 3; ++channel) {
            const auto k = static_cast<std::size_t>(channel);
            const std::size_t at = rows.camera_at(c) + k * math::kVignetteValues,
                              raw = rows.camera_at(c) + math::kCameraCurve + k * math::kCurveValues;
            float shape[5];
            math::look::curve(learned.values.data() + raw, shape);
            vignette.push_back(values(at, math::kVignetteValues));
            curve.push_back({json_number(shape[0]), json_number(shape[1]), json_number(shape[2]),
                             json_number(shape[3])});
        }
        out["cameras"].push_back({{"vignette", vignette}, {"curve", curve}});
    }
    return out;
}

void StepLog::add(const StepReport& r) {
    StepReport& row = rows_.emplace_back(r);
    if (r.measured_step == r.step) return;
    row.measured_step = 0;
    row.loss = row.l1 = row.ssim = row.psnr = row.lidar_m = kNotMeasured;
    row.counters = {};
    row.photos.clear();
    for (auto it = rows_.rbegin(); it != rows_.rend() && it->step >= r.measured_step; ++it) {
        if (it->step != r.measured_step) continue;
        it->measured_step = r.measured_step;
        it->measured_view = r.measured_view;
        it->loss = r.loss;
        it->l1 = r.l1;
        it->ssim = r.ssim;
        it->psnr = r.psnr;
        it->lidar_m = r.lidar_m;
        it->counters = r.counters;
        it->photos = r.photos;
    }
}

void StepLog::take_earlier(const fs::path& csv, std::uint64_t last_step) {
    const auto text = read_text_file(csv);
    if (!text || !text->starts_with(kStepColumns)) return;
    for (std::size_t begin = text->find('\n') + 1; begin < text->size();) {
        const std::size_t end = text->find('\n', begin);
        if (end == std::string::npos) return;
        const StepReport report = report_of({text->data() + begin, end - begin});
        if (report.step > last_step) return;
        if (report.step != 0) rows_.push_back(report);
        begin = end + 1;
    }
}

Result<void> StepLog::write(const fs::path& csv) const {
    std::string text = fmt::format("{}{}{}\n", kStepColumns, kRoundColumns, kLidarColumn);
    for (const StepReport& row : rows_) text += row_of(row);
    return write_text_file(csv, text);
}

bool RunFiles::leave(const std::string& what, const fs::path& path, const WriteFile& write,
                     const Tell& tell) {
    fs::path where = path;
    const fs::path pointer = path.parent_path() / kElsewhere;
    if (const auto written = write_into_folder(path, write); !written) {
        where = rescue_folder() / path.filename();
        if (!write_into_folder(where, write)) {
            misplaced_.insert(what);
            tell(LogLevel::error, written.error().text());
            return false;
        }
        tell(LogLevel::error, fmt::format("{}: {}; it is in {} instead", path.string(),
                                          written.error().message, where.string()));
        (void)write_text_file(pointer, where.string() + "\n");  // the disk may be full
        note(what, where);
        misplaced_.insert(what);
        return true;
    }
    note(what, where);
    if (std::error_code ignored; misplaced_.empty()) fs::remove(pointer, ignored);
    return true;
}

void RunFiles::note(const std::string& what, const fs::path& where) {
    misplaced_.erase(what);
    std::erase_if(files_, [&](const auto& file) { return file.first == what; });
    files_.emplace_back(what, where.string());
}

std::string RunFiles::at(const std::string& what) const {
    for (const auto& [name, where] : files_)
        if (name == what) return where;
    return {};
}

}  // namespace gs
