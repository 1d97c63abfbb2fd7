// The doctor: what is wrong with splats or a capture, what follows from it, and what can be mended. docs/doctor.md has
// the table of findings and thresholds. Called by `gausscope info`, by training before its first step, and by panels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

enum class Severity { note, warning, error };
const char* name_of(Severity severity);

struct Finding {
    std::string id;  ///< "needles": stays the same from release to release
    Severity severity = Severity::note;
    std::string what;                   ///< one sentence with the count, without a full stop
    std::uint64_t count = 0;            ///< of Gaussians, photos or points; 1 for what concerns the whole
    std::vector<std::string> examples;  ///< at most kFindingExamples: rows ("#17") or names of photos
    std::string consequence;            ///< what it does to pictures, training or memory
    std::string advice;
    bool fixable = false;  ///< fix() can mend it
};
inline constexpr std::size_t kFindingExamples = 5;
/// note where there is none.
Severity worst_of(std::span<const Finding> findings);

/// Bytes that so many Gaussians take, by the sums in docs/doctor.md. An estimate: a real frame depends on its camera.
struct MemoryPlan {
    std::uint64_t gaussians = 0, isects = 0;  ///< isects: (Gaussian, tile) pairs of a frame
    std::uint64_t parameters = 0;             ///< of the model
    std::uint64_t optimizer = 0;              ///< two moments a parameter, the last step, density statistics
    std::uint64_t frame_view = 0;             ///< lists and pictures of a frame
    std::uint64_t frame_train = 0;            ///< the same with gradients
    std::uint64_t to_view() const { return parameters + frame_view; }
    std::uint64_t to_train() const { return parameters + optimizer + frame_train; }
};
MemoryPlan plan_memory(std::uint64_t gaussians, int sh_degree, double isects_per_gaussian, int width, int height);
/// MemAvailable of /proc/meminfo; 0 where it is not told.
std::uint64_t available_host_bytes();

/// What is known besides the model. Zero bytes: unknown, nothing is compared with it.
struct SplatQuestions {
    std::vector<std::string> notes;  ///< of the reader; each becomes a finding
    int width = 1920, height = 1080;
    std::uint64_t cap = 0;  ///< Gaussians training may grow to; 0: no growth
    std::uint64_t host_bytes = 0, device_bytes = 0;
};
struct SplatReport {
    std::vector<Finding> findings;  ///< gravest first
    MemoryPlan now, at_cap;         ///< at_cap is now where no cap was given
};
/// Parallel, bounded memory (16 bytes a Gaussian while duplicates are looked for), the same for every thread count.
SplatReport examine(const GaussianModel& model, const SplatQuestions& questions = {});
/// Photos need not be decoded.
std::vector<Finding> examine(const Capture& capture);

struct Fixed {
    GaussianModel model;
    std::vector<std::string> changes;  ///< one line each, with counts; empty: nothing was changed
};
/// A mended copy, so that it can be undone: of what `ids` name nothing fixable is left. Empty ids: everything fixable.
Fixed fix(const GaussianModel& model, std::span<const std::string> ids = {});

}  // namespace gs
