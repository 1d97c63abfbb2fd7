#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace gs {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
    std::fprintf(stderr, "gausscope: internal error at %s:%d: %s failed. %.*s\n", file, line,
                 condition, static_cast<int>(message.size()), message.data());
    flush_log();
    std::abort();
}

}  // namespace gs
