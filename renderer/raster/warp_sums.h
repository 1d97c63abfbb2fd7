// WarpWork added up and compared: of tiles, of views, of backends. Apart from rasterizer.h, which
// half the program includes.
#pragma once

#include "renderer/raster/rasterizer.h"

namespace gs {

inline WarpWork& operator+=(WarpWork& sum, const WarpWork& more) {
    sum.batches += more.batches;
    sum.group_tests += more.group_tests;
    sum.near += more.near;
    sum.open += more.open;
    sum.live_isects += more.live_isects;
    sum.live_sub_tiles += more.live_sub_tiles;
    return sum;
}
inline bool operator==(const WarpWork& a, const WarpWork& b) {
    return a.batches == b.batches && a.group_tests == b.group_tests && a.near == b.near &&
           a.open == b.open && a.live_isects == b.live_isects &&
           a.live_sub_tiles == b.live_sub_tiles;
}

}  // namespace gs
