// Differentiable drawing on flat arrays, for callers that have their own parameters and optimizer
// (the Python module): Gaussians by linear scales and opacities through matrices of cameras, their
// colours from spherical harmonics, and splats with any number of channels blended into pictures.
// Each f with its f_vjp. The conventions are gsplat's. Arrays are contiguous, row-major. On the
// CPU; cuda/cuda_tensor_ops.h has them on CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "renderer/scene/camera.h"

namespace gs::tensor {

/// Batches of scenes, each with its own Gaussians and cameras.
struct Sizes {
    std::size_t batches = 0, cameras = 0, gaussians = 0;
    GS_HD std::size_t rows() const { return batches * gaussians; }
    GS_HD std::size_t views() const { return batches * cameras; }
    /// [batch][camera][Gaussian]
    GS_HD std::size_t entries() const { return views() * gaussians; }
};
/// The camera and the Gaussian of an entry.
GS_HD inline std::size_t view_of_entry(const Sizes& sizes, std::size_t e) {
    return e / sizes.gaussians;
}
GS_HD inline std::size_t row_of_entry(const Sizes& sizes, std::size_t e) {
    return e / sizes.gaussians / sizes.cameras * sizes.gaussians + e % sizes.gaussians;
}
/// Gradients of a camera are added over parts of this many Gaussians, then over the parts.
inline constexpr std::size_t kPart = 256;

/// The cameras of all batches; all are of one model.
struct CameraInput {
    const float* viewmats;              ///< [view][4][4] camera from world
    const float* Ks;                    ///< [view][3][3] px; fx, fy, cx, cy are read
    const float* distortion = nullptr;  ///< [view][12] as Camera::distortion, or null: 0
    /// [view][4][4] at the end of a rolling shutter's read-out; viewmats are at its beginning then.
    const float* viewmats_rs = nullptr;
    CameraModel model = CameraModel::pinhole;  ///< or orthographic, full_opencv, opencv_fisheye,
                                               ///< ftheta (in pixels; cx, cy from a pixel's centre)
    Shutter shutter = Shutter::global;
    int width = 0, height = 0;
};
struct ProjectInput : CameraInput {
    Sizes sizes;
    const float* means;      ///< [row][3]
    const float* quats;      ///< [row][4] w first, any length; null with covars
    const float* scales;     ///< [row][3] of any sign; null with covars
    const float* covars;     ///< [row][6] xx xy xz yy yz zz, or null
    const float* opacities;  ///< [row]
    /// By the unscented transform (math/unscented.h) with gsplat's weights and its rule of which
    /// Gaussians are seen. Models with distortion, ftheta and rolling shutters need it.
    bool unscented = false;
    float near_plane = 0.01f, far_plane = 1e10f;  ///< between which camera z must lie
    float radius_clip = 0;                        ///< px: not drawn where neither radius is larger
    float blur = 0.3f;  ///< added to the diagonal of the 2D covariance, px^2
    bool antialiased = false;
    float least_compensation = 0.005f;  ///< of the opacity, with antialiased
};
/// By entry. Where radii are 0 nothing is drawn and all is 0.
struct ProjectOutput {
    std::int32_t* radii;  ///< [2] px, half sides of the box that holds every alpha of 1/255, at
                          ///< most 3.33 standard deviations
    float* means2d;       ///< [2] px
    float* depths;        ///< camera z
    float* conics;        ///< [3] xx xy yy of the inverse 2D covariance
    float* opacities;     ///< compensated
};
void project(const ProjectInput& in, const ProjectOutput& out);
/// d loss / d ProjectOutput; null: 0.
struct ProjectSeeds {
    const float *means2d, *depths, *conics, *opacities;
};
/// d loss / d ProjectInput; null: not wanted. A rolling shutter has none of viewmats.
struct ProjectGradients {
    float *means, *quats, *scales, *covars, *opacities, *viewmats;
};
void project_vjp(const ProjectInput& in, const std::int32_t* radii, const ProjectSeeds& seeds,
                 const ProjectGradients& out);

struct ShadeInput {
    Sizes sizes;
    int degree = 0;             ///< 0 .. 3
    std::size_t bases = 0;      ///< at least (degree + 1)^2; further ones are not read
    bool by_view = false;       ///< coefficients are [view][Gaussian] instead of [row]
    const float* means;         ///< [row][3]
    const float* viewmats;      ///< [view][4][4]; the last row is not read
    const float* coefficients;  ///< [..][basis][3]
    const std::int32_t* radii;  ///< [entry][2]
};
/// max(0, SH + 0.5) by entry, [3]; 0 where radii are 0.
void shade(const ShadeInput& in, float* colors);
/// Null: not wanted.
struct ShadeGradients {
    float *means, *viewmats, *coefficients;
};
void shade_vjp(const ShadeInput& in, const float* v_colors, const ShadeGradients& out);

/// Gaussians that each pixel's ray meets in the world (math/along_ray.h), in place of ellipses.
struct RayInput : CameraInput {
    Sizes sizes;
    const float *means, *quats, *scales;  ///< [row] as ProjectInput
};
struct BlendInput {
    /// [images + 1]: image i has entries first[i] .. first[i + 1] - 1. Rising from 0.
    std::span<const std::int64_t> first;
    const std::int32_t* radii;  ///< [entry][2], not drawn where one of them is 0; or null
    const float* means2d;       ///< [entry][2] px
    const float* conics;        ///< [entry][3]; not read with rays
    const float* opacities;     ///< [entry]
    const float* depths;        ///< [entry] the smallest is in front; equal ones by entry
    const float* colors;        ///< [entry][channels]
    const float* backgrounds;   ///< [image][channels], or null: 0
    std::size_t channels = 0;
    int width = 0, height = 0;
    float alpha_max = 0.99f;
    /// Or null. Images are then the views, with an entry for each Gaussian, and radii are given: as
    /// in gsplat a Gaussian may show in all tiles that the box of its radii touches.
    const RayInput* rays = nullptr;
    std::size_t images() const { return first.size() - 1; }
};
/// What blend_vjp needs of blend; of one call, never changed by it.
class BlendLists {
  public:
    virtual ~BlendLists() = default;
};
/// `colors`: [image][height][width][channels], `alphas`: [image][height][width]. Without
/// `gradients` returns null. Throws std::length_error where a picture has too many pairs.
std::unique_ptr<const BlendLists> blend(const BlendInput& in, float* colors, float* alphas,
                                        bool gradients);
/// The pictures, and d loss / d them; null: 0.
struct BlendSeeds {
    const float *colors, *alphas, *v_colors, *v_alphas;
};
/// By entry.
struct BlendGradients {
    float *means2d, *conics;  ///< null with rays
    float *opacities, *colors;
    float* absolute;  ///< as means2d, of absolute values by pixel; or null
    float *means = nullptr, *quats = nullptr, *scales = nullptr;  ///< with rays, by row; or null
    float* viewmats = nullptr;  ///< with rays and a global shutter, as CameraInput; or null
};
void blend_vjp(const BlendInput& in, const BlendLists& lists, const BlendSeeds& seeds,
               const BlendGradients& out);

}  // namespace gs::tensor
