// Findings: what the doctor (renderer/doctor/doctor.h) has to say, as plain values. Here rather
// than beside it so that panels can show them without knowing any file format.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gs {

enum class Severity { note, warning, error };
inline constexpr std::array<const char*, 3> kSeverityNames{"note", "warning", "error"};
inline const char* name_of(Severity severity) {
    return kSeverityNames[static_cast<std::size_t>(severity)];
}

struct Finding {
    std::string id;  ///< "needles": stays the same from release to release
    Severity severity = Severity::note;
    std::string what;         ///< one sentence with the count, without a full stop
    std::uint64_t count = 0;  ///< of Gaussians, photos or points; 1 for what concerns the whole
    std::vector<std::string>
        examples;             ///< at most kFindingExamples: rows ("#17") or names of photos
    std::string consequence;  ///< what it does to pictures, training or memory
    std::string advice;
    bool fixable = false;       ///< fix() can repair it
    bool of_gaussians = false;  ///< about single Gaussians: rows_of_finding() has them
};
inline constexpr std::size_t kFindingExamples = 5;

/// Bytes that a number of Gaussians takes, by the sums in docs/doctor.md. An estimate: a real frame
/// depends on its camera.
struct MemoryPlan {
    std::uint64_t gaussians = 0, isects = 0;  ///< isects: (Gaussian, tile) pairs of a frame
    std::uint64_t parameters = 0;             ///< of the model
    std::uint64_t optimizer = 0;    ///< two moments a parameter, the last step, density statistics
    std::uint64_t frame_view = 0;   ///< lists and pictures of a frame
    std::uint64_t frame_train = 0;  ///< the same with gradients
    std::uint64_t to_view() const { return parameters + frame_view; }
    std::uint64_t to_train() const { return parameters + optimizer + frame_train; }
};

}  // namespace gs
