#include "profiler/inject/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gs::inject {
namespace {

bool is(const char* variable, const char* value) {
    const char* text = ::secure_getenv(variable);
    return text != nullptr && std::strcmp(text, value) == 0;
}

Settings read() {
    Settings s;
    s.cupti = !is("GAUSSCOPE_CUPTI", "0");
    s.nvml = !is("GAUSSCOPE_NVML", "0");
    s.whole_graphs = is("GAUSSCOPE_CUPTI_GRAPHS", "whole");
    if (const char* path = ::secure_getenv("GAUSSCOPE_CUPTI_LIBRARY"))
        std::snprintf(s.cupti_library, sizeof s.cupti_library, "%s", path);
    return s;
}

const Settings at_load = read();

}  // namespace

const Settings& settings() noexcept { return at_load; }

}  // namespace gs::inject
