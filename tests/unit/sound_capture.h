// A capture without a fault, for tests of the doctor, which spoil it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "renderer/scene/capture.h"
#include "renderer/scene/finding.h"
#include "tests/support/random_scene.h"

namespace gs::test {

/// 16 photos from around a cube of points, two of them held out: nothing is wrong with it.
inline Capture sound_capture() {
    Capture c;
    for (int i = 0; i < 16; ++i) {
        View view;
        view.name = "view_" + std::to_string(i) + ".png";
        const double angle = 0.3 * i;
        view.camera = look_at({4 * std::cos(angle), 4 * std::sin(angle), 1}, {0, 0, 0}, {0, 0, 1},
                              320, 240, 0.9);
        view.test = i % 8 == 0;
        c.views.push_back(view);
    }
    for (std::uint64_t i = 0; i < 300; ++i) {
        c.points.push_back({.position = {static_cast<float>(random_in(2, 0, i, -1, 1)),
                                         static_cast<float>(random_in(2, 1, i, -1, 1)),
                                         static_cast<float>(random_in(2, 2, i, -1, 1))}});
    }
    return c;
}

/// Null where there is none.
inline const Finding* find(const std::vector<Finding>& findings, const std::string& id) {
    const auto it = std::ranges::find(findings, id, &Finding::id);
    return it == findings.end() ? nullptr : &*it;
}

}  // namespace gs::test
