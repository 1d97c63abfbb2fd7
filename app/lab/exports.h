// What a trained scene weighs in other formats and what it loses there. Called by the runner.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "app/lab/lab_file.h"

namespace gs::lab {

/// A format's name in a suite and the extension of its files; its metrics are "spz size" (bytes)
/// and "spz loss" (dB).
inline constexpr const char* kExportFormats[] = {"spz", "sog"};

/// The program that trained the run, and how it is asked.
struct ExportAsk {
    fs::path program;
    std::string backend;
    std::function<bool()> stopped;
};
/// Writes the run's splats in these formats below its folder and adds the bytes of each, and how
/// much PSNR it loses: mean over the held-out photos, against the run's own splat file scored in
/// the same way. Errors: cancelled; the last line of a program that failed.
Result<void> measure_exports(std::span<const std::string> formats, const ExportAsk& ask,
                             LabRun& into);

}  // namespace gs::lab
