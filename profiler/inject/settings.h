// What the environment says about CUPTI and NVML, read when the library is loaded: a program may
// change its environment later, while threads of ours run, and getenv() would read what is being
// freed. Ignored in set-user-id programs.
#pragma once

namespace gs::inject {

struct Settings {
    bool cupti = true;  ///< GAUSSCOPE_CUPTI=0: never taken
    bool nvml = true;   ///< GAUSSCOPE_NVML=0: never opened
    bool whole_graphs =
        false;  ///< GAUSSCOPE_CUPTI_GRAPHS=whole: a record a graph instead of one a node
    char cupti_library[512]{};  ///< GAUSSCOPE_CUPTI_LIBRARY: this one and no other; empty: look for
                                ///< one
};
const Settings& settings() noexcept;

}  // namespace gs::inject
