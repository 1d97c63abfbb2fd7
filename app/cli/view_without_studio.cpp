// Stands in for view.cpp in builds with GAUSSCOPE_STUDIO=OFF.
#include "app/cli/commands.h"
#include "app/cli/common.h"

namespace gs::cli {

int run_view(const Arguments&) {
    return report({ErrorKind::usage,
                   "",
                   "this build has no studio",
                   "configure with -DGAUSSCOPE_STUDIO=ON; train, eval, render work without",
                   {},
                   {}});
}

}  // namespace gs::cli
