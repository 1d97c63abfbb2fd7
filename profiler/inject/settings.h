// What the environment says about CUPTI, read when the library is loaded: a program may
// change its environment later, while threads of ours run, and getenv() would read what is being
// freed. Ignored in set-user-id programs.
#pragma once

#include <cstdint>

namespace gs::inject {

struct Settings {
    bool cupti = true;  ///< GAUSSCOPE_CUPTI=0: never taken
    /// GAUSSCOPE_CUPTI_GRAPHS: CUDA graphs are recorded node by node for N seconds from the first
    /// record on ("nodes": always), then as a whole
    std::uint64_t graph_nodes_s = 0;
    /// GAUSSCOPE_CUPTI_REST: seconds for which CUPTI's kinds of records stay unchanged, at least;
    /// unless it says otherwise graphs are recorded in one way for `rest_s`
    std::uint64_t rest_s = 30, pause_rest_s = 1;
    char cupti_library[512]{};  ///< GAUSSCOPE_CUPTI_LIBRARY: this one and no other; empty: look for
                                ///< one
};
const Settings& settings() noexcept;

}  // namespace gs::inject
