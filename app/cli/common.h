// What the subcommands share: exit codes, how errors and results are printed, turning arguments
// into options, Ctrl-C.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/backend/backend.h"
#include "app/cli/arguments.h"
#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/settings.h"

namespace gs::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  ///< failed, or was stopped, while running
inline constexpr int kUsage = 2;   ///< wrong usage or unusable input; nothing was started
inline constexpr int kGate = 3;    ///< a comparison or check fell short

/// Prints "error: ..." on stderr; returns the exit code that goes with the error: kUsage for what
/// the user can mend before starting again, kFailed for the rest.
int report(const Error& error);
/// One line on stdout: the object, without line breaks.
void print_json(const nlohmann::ordered_json& object);
/// A number as JSON, null when it is not finite.
nlohmann::ordered_json number(double value);

/// Threads, log level.
void apply(const CommonArguments& common);
/// What --backend names. Errors (usage): cuda where it cannot be used, with the reason.
Result<Backend> backend_of(const CommonArguments& common);
/// Its rasterizer, for who needs no more.
Result<std::unique_ptr<Rasterizer>> make_rasterizer(const CommonArguments& common);

Result<CaptureOptions> capture_options(const CaptureArguments& arguments,
                                       const CommonArguments& common);
/// Loads with a progress bar, prints the memory forecast before and what was skipped after.
Result<std::shared_ptr<const Capture>> load_with_progress(const std::string& path,
                                                          CaptureOptions options);
/// "r,g,b" -> numbers; empty -> black.
Result<Vec3f> parse_color(const std::string& text);
Result<RenderOptions> picture_options(const PictureArguments& arguments);
std::vector<std::string> split(std::string_view text, char separator);
/// "1.2 GiB".
std::string human_bytes(std::uint64_t bytes);

/// Makes the folder and proves that a file can be written there, before hours are spent.
Result<void> prepare_output_folder(const fs::path& folder);
/// The same for one file.
Result<void> prepare_output_file(const fs::path& file);

/// From now on Ctrl-C (SIGINT, SIGTERM) only sets a flag; a second one ends the process at once.
void catch_interrupts();
bool interrupted();

}  // namespace gs::cli
