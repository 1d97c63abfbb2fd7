#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/sample/sample_capture.h"

namespace gs::cli {

int run_sample(const Arguments& arguments) {
    const SampleArguments& a = arguments.sample;
    const fs::path folder = a.folder;
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
        return report({ErrorKind::usage,
                       a.folder,
                       "there is a file of this name",
                       "name another folder",
                       {},
                       {}});
    if (!a.force && fs::is_directory(folder, error) && !fs::is_empty(folder, error) && !error)
        return report({ErrorKind::usage,
                       a.folder,
                       "the folder is not empty",
                       "name another one, or add --force",
                       {},
                       {}});
    if (auto ready = prepare_output_folder(folder); !ready) return report(ready.error());

    catch_interrupts();
    ProgressLine progress("sample");
    SampleOptions options{a.views, a.width, a.height, a.points, arguments.common.seed.value_or(42),
                          {}};
    options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
        progress.update(done, total, what);
        return !interrupted();
    };
    const auto written = write_sample_capture(folder, options);
    progress.finish();
    if (!written) {
        report(written.error());
        return kFailed;
    }
    fmt::print("{}: {} photos of {} x {}, {} points, in {:.1f} s\n", a.folder, written->views,
               a.width, a.height, written->points, written->seconds);
    if (arguments.common.json)
        print_json({{"command", "sample"},
                    {"path", a.folder},
                    {"views", written->views},
                    {"width", a.width},
                    {"height", a.height},
                    {"points", written->points},
                    {"seconds", written->seconds}});
    return kDone;
}

}  // namespace gs::cli
