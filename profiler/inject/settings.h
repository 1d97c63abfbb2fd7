// What the environment says about CUPTI, read when the library is loaded: a program may
// change its environment later, while threads of ours run, and getenv() would read what is being
// freed. Ignored in set-user-id programs.
#pragma once

#include <cstdint>

namespace gs::inject {

struct Settings {
    bool cupti = true;  ///< GAUSSCOPE_CUPTI=0: never taken
    /// GAUSSCOPE_CUPTI_GRAPHS: CUDA graphs are told node by node for so many seconds from the first
    /// record on ("nodes": always), then as a whole
    std::uint64_t graph_nodes_s = 0;
    /// GAUSSCOPE_CUPTI_REST: so many seconds CUPTI's kinds of records stay as they are, at least;
    /// unless it says otherwise graphs are told in one way for `rest_s`
    std::uint64_t rest_s = 30, pause_rest_s = 1;
    char cupti_library[512]{};  ///< GAUSSCOPE_CUPTI_LIBRARY: this one and no other; empty: look for
                                ///< one
};
const Settings& settings() noexcept;

}  // namespace gs::inject
