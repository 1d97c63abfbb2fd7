#include "app/session/checkup.h"
#include "base/seconds.h"

#include <algorithm>
#include <chrono>

namespace gs {
namespace {

/// Gaussians that training has room for: its memory grows in proportion, but for what pixels take.
MemoryRoom room_in(std::uint64_t free_bytes, const MemoryPlan& plan) {
    MemoryRoom out{free_bytes, 0};
    if (free_bytes == 0 || plan.gaussians == 0 || plan.to_train() <= free_bytes) return out;
    const double share = static_cast<double>(free_bytes) / static_cast<double>(plan.to_train());
    const std::uint64_t digits = 10'000;  // it is an estimate
    out.fits =
        static_cast<std::uint64_t>(share * static_cast<double>(plan.gaussians)) / digits * digits;
    return out;
}

/// Photos are held beside it where training computes; a device keeps them on the host.
std::uint64_t bytes_of_photos(const Capture& capture) {
    std::uint64_t sum = 0;
    for (const View& view : capture.views) sum += view.photo.bytes.size() + view.mask.bytes.size();
    return sum;
}

void examine_model(const CheckupSubject& subject, SplatReport splats, DoctorReport& out) {
    out.planned = true;
    out.now = splats.now;
    out.at_cap = splats.at_cap;
    out.host = room_in(subject.questions.host_bytes, out.at_cap);
    out.device = room_in(subject.questions.device_bytes, out.at_cap);
    const auto wanted = [&](const Finding& f) {
        return subject.trained || f.id.starts_with("memory");
    };
    std::copy_if(std::make_move_iterator(splats.findings.begin()),
                 std::make_move_iterator(splats.findings.end()), std::back_inserter(out.findings),
                 wanted);
}

}  // namespace

Result<DoctorReport> examine_scene(const CheckupSubject& subject, const Progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    DoctorReport out;
    out.width = subject.questions.width;
    out.height = subject.questions.height;
    if (subject.capture) {
        if (progress && !progress("examining the capture", 0, 1))
            return fail(ErrorKind::cancelled, "", "was cancelled");
        out.findings = examine(*subject.capture);
        out.photo_bytes = bytes_of_photos(*subject.capture);
    }
    if (subject.model) {
        const Progress told = [&](std::string_view, std::size_t done, std::size_t total) {
            return !progress || progress("examining splats", done, total);
        };
        auto splats = examine(*subject.model, subject.questions, told);
        if (!splats) return tl::unexpected<Error>(splats.error());
        examine_model(subject, std::move(*splats), out);
    }
    std::stable_sort(out.findings.begin(), out.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    out.seconds = seconds_since(begin);
    return out;
}

Result<Mended> mend_scene(LoadedScene scene, std::shared_ptr<const GaussianModel> original,
                          const std::vector<std::string>& fixes, const SessionOptions& options,
                          const Progress& progress) {
    const Progress told = [&](std::string_view, std::size_t done, std::size_t total) {
        return !progress || progress("mending splats", done, total);
    };
    Mended out{std::move(scene), {}};
    for (const std::string& name : fixes) {
        const std::vector<std::string> ids =
            name.empty() ? std::vector<std::string>() : std::vector{name};
        auto fixed = fix(*original, ids, told);
        if (!fixed) return tl::unexpected<Error>(fixed.error());
        out.changes.insert(out.changes.end(), fixed->changes.begin(), fixed->changes.end());
        original = std::make_shared<const GaussianModel>(std::move(fixed->model));
    }
    if (auto shown = show_model(out.scene, std::move(original), options); !shown)
        return tl::unexpected<Error>(shown.error());
    return out;
}

LoadedScene same_scene(const LoadedScene& scene) {
    LoadedScene out;
    out.name = scene.name;
    out.path = scene.path;
    out.format = scene.format;
    out.capture = scene.capture;
    out.levels = scene.levels;
    out.sh_degree = scene.sh_degree;
    out.notes = scene.notes;
    out.seconds = scene.seconds;
    return out;
}

}  // namespace gs
