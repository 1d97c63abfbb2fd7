#include "renderer/scene/pose_between.h"

namespace gs {

Pose pose_between(const Pose& first, const Pose& last, double time) {
    const Quatd q =
        slerp(quat_from_rotation(first.rotation), quat_from_rotation(last.rotation), time);
    return {rotation_from_quat(q), (1 - time) * first.translation + time * last.translation};
}

}  // namespace gs
