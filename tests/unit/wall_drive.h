// A drive towards a wall, for tests that learn from a lidar.
#pragma once

#include <memory>
#include <string>

#include "tests/unit/io_files.h"
#include "trainer/settings/settings.h"

namespace gs::test {

/// Three frames, 1 m apart, towards a wall 10 m ahead of the first.
struct WallDrive {
    TempFolder folder;
    WallDrive() {
        std::string poses, times;
        for (int i = 0; i < 3; ++i) {
            const std::string name = "00000" + std::to_string(i);
            put_png(folder / ("sequences/00/image_2/" + name + ".png"),
                    constant(48, 24, {200, 120, 60}));
            Packer out;
            for (int row = 0; row < 16; ++row)
                for (const bool right : {true, false})
                    for (int k = right ? 0 : 99; right ? k < 100 : k > 0; k += right ? 1 : -1)
                        out.add(static_cast<float>(10 - i))
                            .add((right ? -0.03f : 0.03f) * static_cast<float>(k))
                            .add(0.8f - 0.1f * static_cast<float>(row))
                            .add(0.25f);
            folder.write("sequences/00/velodyne/" + name + ".bin", out.bytes);
            poses += "1 0 0 0 0 1 0 0 0 0 1 " + std::to_string(i) + "\n";
            times += std::to_string(0.1 * i) + "\n";
        }
        folder.write("poses/00.txt", poses);
        folder.write("sequences/00/times.txt", times);
        folder.write("sequences/00/calib.txt",
                     "P2: 40 0 24 0 0 40 12 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n");
    }
    /// As loaded, its points `nearer` metres towards the cameras.
    std::shared_ptr<Capture> capture(float nearer) const {
        auto loaded = load_capture(folder.path(), CaptureOptions{});
        CHECK(loaded, "{}", loaded.error().text());
        for (SparsePoint& p : loaded->points) p.position.z -= nearer;
        return std::make_shared<Capture>(std::move(*loaded));
    }
};
inline TrainingSettings wall_settings() {
    TrainingSettings s;
    s.steps = 60;
    s.densify_from = 8;
    s.densify_until = 30;
    s.densify_every = 10;
    s.lr_means = 2e-2;
    s.lr_means_final = 5e-3;
    s.init_opacity = 0.5;
    s.lidar_weight = 0.1;
    s.lidar_beams = 1000;
    s.sh_degree = 0;
    return s;
}

}  // namespace gs::test
