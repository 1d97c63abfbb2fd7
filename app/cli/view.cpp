// `gausscope [view] [PATH]`: opens the studio.

#include "app/cli/add_value.h"
#include "app/cli/studio.h"
#include "app/cli/subcommand.h"
#include "profiler/collect/own_service.h"

namespace gs::cli {
namespace {

void add_options(CLI::App& app, ViewArguments& a) {
    app.add_option("PATH", a.path,
                   "splat file, capture folder, run, checkpoint or trace [open an empty studio]");
    app.add_option("TRACE", a.traces, "traces to open as well (.pftrace, .json, gzipped or not)");
    add_value(app, "--capture DIR", a.capture, "photos that belong to a splat file or checkpoint");
    add_value(app, "--compare PATH", a.compare,
              "splats, a checkpoint or a run's folder to show next to it, from the same camera");
    add_value(app, "-o,--output DIR", a.output, "folder for checkpoints and exports");
    add_window(app, a.window);
    add_loading(app, a.loading);
    add_photo_memory(app, a.loading);
    add_background(app, a.loading.background, "Capture");
    add_settings(app, a.settings);
}

Result<int> run(const ViewArguments& a, const CommonArguments& common) {
    const service::OwnService service;  // it runs for long: it can be attached to
    return open_studio(a, common);
}

}  // namespace

Subcommand view_command() {
    return subcommand<ViewArguments>(
        "view", "open the studio: view, train, profile",
        "  gausscope scene.ply                      look at a splat file\n"
        "  gausscope photos/                        open a capture, ready to train\n"
        "  gausscope out/point_cloud.ply --capture photos/   compare with the photos\n"
        "  gausscope view before.pftrace after.json.gz        inspect and compare traces in the "
        "timeline\n"
        "  gausscope view photos/ --headless --script tour.txt   the studio without a "
        "display, driven by a script\n",
        add_options, run);
}

}  // namespace gs::cli
