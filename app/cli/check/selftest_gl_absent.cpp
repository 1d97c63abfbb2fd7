// Replaces selftest_gl.cpp in builds with GAUSSCOPE_STUDIO=OFF.
#include "app/cli/check/selftest_checks.h"

namespace gs::cli {

void add_gl_checks(CheckList& list, const Backend&) {
    list.push_back([]() -> CheckRow {
        return {"OpenGL", "off-screen context (EGL)", "this build has no studio", false, false};
    });
}

}  // namespace gs::cli
