// Compiles renderer/math for the device: every function that the CUDA backend will call must be
// accepted by nvcc in device code. A compile-time test; nothing here runs.
#include "renderer/math/project.h"
#include "renderer/math/project_lens.h"
#include "renderer/math/sh.h"
#include "renderer/math/tiles.h"

namespace {

using namespace gs;

struct DeviceMathParams {
    math::Pinhole<float> camera;
    math::LensCamera<float> lens;
    const Vec3<float>* means;                     // [count] world
    const Vec3<float>* scales;                    // [count] standard deviations, world units
    const Quat<float>* quats;                     // [count] any length
    math::ProjectionGradients<float>* gradients;  // [count]
    Vec3<float>* directions;                      // [count] gradient through the SH bases
    math::Interval* reach;                        // [count] px
    int count;
};

__global__ void use_math(DeviceMathParams p) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= p.count) return;
    const auto projected = math::project(p.camera, p.means[i], p.scales[i], p.quats[i]);
    const auto conic = math::conic_of(projected.cov, projected.det, 0.3f);
    const auto v_cov =
        math::conic_of_vjp(projected.cov, projected.det, 0.3f, conic.inverse, conic.compensation);
    p.gradients[i] = math::project_vjp(p.camera, p.means[i], p.scales[i], p.quats[i],
                                       projected.mean, v_cov, 1.0f);
    const auto through = math::project(p.lens, p.means[i], p.scales[i], p.quats[i]);
    const auto back = math::project_vjp(p.lens, p.means[i], p.scales[i], p.quats[i], through.mean,
                                        v_cov, through.depth);
    p.gradients[i].mean += back.mean + math::lens_ray(p.lens.lens, through.mean).direction;
    float basis[16];
    const Vec3<float> direction = math::normalize(p.means[i]);
    math::sh_basis(3, direction, basis);
    p.directions[i] = math::normalize_vjp(p.means[i], math::sh_basis_vjp(3, direction, basis));
    p.reach[i] = math::ellipse_reach(conic.inverse, 8.0f, {4.0f, 4.0f}, -8.0f, 8.0f);
}

}  // namespace

// Named so that the kernel is not dropped.
void* device_math_kernel() { return reinterpret_cast<void*>(&use_math); }
