// The one launch path. launch(stream, "blend", {blocks, threads}, kernel, params): checked, an
// empty grid launches nothing. No stream of ours is the default stream.
#pragma once

#include "renderer/device/cuda/runtime.h"

namespace gs::cuda {

struct Grid {
    std::uint32_t blocks;
    std::uint32_t threads;           ///< a multiple of 32
    std::uint32_t shared_bytes = 0;  ///< dynamic shared memory; ours is static, so 0
};
/// Blocks of `threads` that cover n items.
constexpr Grid grid_for(std::size_t n, std::uint32_t threads) {
    return {static_cast<std::uint32_t>((n + threads - 1) / threads), threads};
}

/// `name` appears in errors. Under stream capture the launch becomes a node of the graph.
template <class Params>
void launch(const Stream& stream, const char* name, Grid grid, void (*kernel)(Params),
            const Params& params) {
    static_assert(std::is_trivially_copyable_v<Params>, "kernels take one plain struct");
    if (grid.blocks == 0) return;
#ifdef GAUSSCOPE_EMULATED
    ::gs::emulator::launch(stream.get(), name, grid.blocks, grid.threads, kernel, params);
#else
    void* arguments[] = {const_cast<Params*>(&params)};
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(grid.blocks),
                           dim3(grid.threads), arguments, grid.shared_bytes, stream.get()),
          name);
#endif
}

}  // namespace gs::cuda
