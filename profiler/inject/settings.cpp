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

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
    const char* text = ::secure_getenv(variable);
    char* end = nullptr;
    const std::uint64_t value = text != nullptr ? std::strtoull(text, &end, 10) : 0;
    return end != text ? value : otherwise;
}

Settings read() {
    Settings s{.cupti = !is("GAUSSCOPE_CUPTI", "0"),
               .graph_nodes_s = is("GAUSSCOPE_CUPTI_GRAPHS", "nodes")
                                    ? ~std::uint64_t{0}
                                    : number("GAUSSCOPE_CUPTI_GRAPHS", 0)};
    s.rest_s = number("GAUSSCOPE_CUPTI_REST", s.rest_s);
    s.pause_rest_s = number("GAUSSCOPE_CUPTI_REST", s.pause_rest_s);
    if (const char* path = ::secure_getenv("GAUSSCOPE_CUPTI_LIBRARY"))
        std::snprintf(s.cupti_library, sizeof s.cupti_library, "%s", path);
    return s;
}

const Settings at_load = read();

}  // namespace

const Settings& settings() noexcept { return at_load; }

}  // namespace gs::inject
