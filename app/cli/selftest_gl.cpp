// OpenGL without a display, as the headless studio uses it.
#include <fmt/core.h>

#include "app/cli/selftest_checks.h"
#include "app/window/window.h"

namespace gs::cli {

void add_gl_checks(CheckList& list) {
    list.push_back([]() -> CheckRow {
        WindowOptions options;
        options.headless = true;
        options.width = 64;
        options.height = 64;
        const auto window = open_window(options);
        if (!window) return {"OpenGL", "off-screen context (EGL)", "not here: " + window.error().text(), false, false};
        return {"OpenGL", "off-screen context (EGL)", (*window)->description(), true};
    });
}

}  // namespace gs::cli
