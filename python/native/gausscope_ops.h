/* The C interface of libgausscope_ops.so. Plain C: no exception crosses it. Every function that
 * computes takes one struct, whose sizes and arrays it checks before it reads them, and returns a
 * gausscope_code; what was wrong is then in the caller's error text. Functions may be called from
 * many threads at once; nothing is kept between calls but gausscope_lists.
 *
 * Arrays are contiguous, row-major, aligned to their elements. An array that is optional may have
 * data and count 0. Of gradients that go in an absent one is zero; of those that come out an absent
 * one is not wanted. The names in brackets below are sizes: row = [batch][Gaussian], view =
 * [batch][camera], entry = [batch][camera][Gaussian].
 *
 * On CUDA a function returns when its work is queued; two wait for the stream: gausscope_blend
 * until it knows how many lists there are to fill, gausscope_project and its backward where there
 * is distortion or a rolling shutter. Blending along rays is on the CPU alone. */
#ifndef GAUSSCOPE_OPS_H_
#define GAUSSCOPE_OPS_H_

#include <stdint.h>

#define GAUSSCOPE_EXPORT __attribute__((visibility("default")))
#ifdef __cplusplus
extern "C" {
#endif

enum gausscope_code {
    GAUSSCOPE_OK = 0,
    GAUSSCOPE_BAD_ARGUMENT = 1,
    GAUSSCOPE_UNSUPPORTED = 2,
    GAUSSCOPE_NO_MEMORY = 3,
    GAUSSCOPE_FAULT = 4, /* a fault of ours */
};
enum gausscope_dtype { GAUSSCOPE_FLOAT32 = 0, GAUSSCOPE_INT32 = 1, GAUSSCOPE_INT64 = 2 };
/* As DLPack numbers them. */
enum gausscope_device { GAUSSCOPE_CPU = 1, GAUSSCOPE_CUDA = 2 };
enum gausscope_lens {
    GAUSSCOPE_PINHOLE = 0,
    GAUSSCOPE_ORTHO = 1,
    GAUSSCOPE_FISHEYE = 2,
    GAUSSCOPE_FTHETA = 3,
};
/* In which order a picture is read; columns are read from left to right or back. */
enum gausscope_shutter {
    GAUSSCOPE_GLOBAL = 0,
    GAUSSCOPE_TOP_TO_BOTTOM = 1,
    GAUSSCOPE_LEFT_TO_RIGHT = 2,
    GAUSSCOPE_BOTTOM_TO_TOP = 3,
    GAUSSCOPE_RIGHT_TO_LEFT = 4,
};

typedef struct {
    void* data;
    int64_t count; /* elements */
    int32_t dtype; /* gausscope_dtype */
    int32_t reserved;
} gausscope_array;

/* The beginning of every struct of arguments. */
typedef struct {
    uint32_t size;       /* sizeof the whole struct */
    int32_t device_type; /* gausscope_device of every array but `first` */
    int32_t device;      /* its index; 0 on the CPU */
    int32_t threads;     /* on the CPU at most that many compute; 0: all cores */
    void* stream;        /* on CUDA a cudaStream_t on which work is queued, null: the default one */
    char* error;         /* text goes here, ended by 0; or null */
    int64_t error_size;
} gausscope_call;

/** "0.1.0". */
GAUSSCOPE_EXPORT const char* gausscope_version(void);

typedef struct {
    gausscope_call call;
    int64_t batches, cameras, gaussians;
    int32_t width, height; /* px */
    int32_t lens, antialiased;
    int32_t unscented; /* else by Jacobian: pinhole, ortho or fisheye alone */
    int32_t shutter;
    float near_plane, far_plane; /* between which camera z must lie */
    float radius_clip, eps2d;    /* px, px^2 */
    float least_compensation;    /* of the opacity, with antialiased */
    float reserved;
    /* In: means [row][3], quats [row][4] and scales [row][3] or covars [row][6] (xx xy xz yy yz
     * zz), opacities [row], viewmats [view][4][4], Ks [view][3][3]. */
    gausscope_array means, quats, scales, covars, opacities, viewmats, Ks;
    /* In, optional, with unscented: distortion [view][12], and viewmats_rs [view][4][4] at the end
     * of a rolling shutter's read-out, at whose beginning viewmats are. The twelve numbers are
     * pinhole k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 (OpenCV), fisheye k1 k2 k3 k4, ftheta (not
     * optional) a polynomial's six coefficients (the first is not read), c d e, the largest angle,
     * and 1 where the polynomial gives the angle of a distance in px, 0 the distance of an angle.
     */
    gausscope_array distortion, viewmats_rs;
    /* Out, and of radii in backward: radii [entry][2] int32, means2d [entry][2], depths [entry],
     * conics [entry][3], compensated opacities [entry]. */
    gausscope_array radii, means2d, depths, conics, compensated;
    /* Backward in, optional: d loss / d what forward gave. */
    gausscope_array v_means2d, v_depths, v_conics, v_compensated;
    /* Backward out, optional; v_viewmats not of a rolling shutter. */
    gausscope_array v_means, v_quats, v_scales, v_covars, v_opacities, v_viewmats;
} gausscope_project_args;
GAUSSCOPE_EXPORT int gausscope_project(gausscope_project_args* args);
GAUSSCOPE_EXPORT int gausscope_project_vjp(gausscope_project_args* args);

typedef struct {
    gausscope_call call;
    int64_t batches, cameras, gaussians, bases;
    int32_t degree;  /* 0 to 3; bases >= (degree + 1)^2 */
    int32_t by_view; /* coefficients are [entry] instead of [row] */
    /* In: means [row][3], viewmats [view][4][4], coefficients [..][basis][3], radii
     * [entry][2] int32. */
    gausscope_array means, viewmats, coefficients, radii;
    gausscope_array colors;                              /* out: [entry][3] */
    gausscope_array v_colors;                            /* backward in */
    gausscope_array v_means, v_viewmats, v_coefficients; /* backward out, optional */
} gausscope_shade_args;
GAUSSCOPE_EXPORT int gausscope_shade(gausscope_shade_args* args);
GAUSSCOPE_EXPORT int gausscope_shade_vjp(gausscope_shade_args* args);

/* What blending backward needs of forward: made by gausscope_blend, given back by
 * gausscope_lists_free, both for the same device. On CUDA forward's stream must outlive them, and
 * backward on another stream must be ordered behind forward. */
typedef struct gausscope_lists gausscope_lists;
typedef struct {
    gausscope_call call;
    int64_t images, entries, channels;
    /* Along rays: images are all batches' cameras, each with an entry for each Gaussian. */
    int64_t batches, cameras, gaussians;
    int32_t width, height; /* px */
    int32_t gradients;     /* forward: make `lists` */
    int32_t along_rays;    /* blend Gaussians as each pixel's ray meets them, not ellipses */
    int32_t lens, shutter;
    float alpha_max;
    float reserved;
    gausscope_lists* lists; /* out of forward, into backward */
    /* In: first [images + 1] int64, in host memory on every device, entries of image i are
     * first[i] .. first[i + 1] - 1; radii
     * [entry][2] int32 (optional: not drawn where 0), means2d [entry][2], conics [entry][3],
     * opacities [entry], depths [entry], colors [entry][channels], backgrounds [image][channels]
     * (optional). */
    gausscope_array first, radii, means2d, conics, opacities, depths, colors, backgrounds;
    /* In, along rays, where radii are not optional and conics are absent: as of gausscope_project.
     */
    gausscope_array means, quats, scales, viewmats, Ks, distortion, viewmats_rs;
    /* Out, and in backward: [image][height][width][channels], [image][height][width]. */
    gausscope_array picture, alphas;
    gausscope_array v_picture, v_alphas; /* backward in, optional */
    /* Backward out; absolute, optional, as v_means2d but of the absolute value of what each pixel
     * gives. Along rays v_means2d, v_conics and absolute are absent, and there are, each optional,
     * v_means, v_quats and v_scales by row, and v_viewmats, not of a rolling shutter. */
    gausscope_array v_means2d, v_conics, v_opacities, v_colors, absolute;
    gausscope_array v_means, v_quats, v_scales, v_viewmats;
} gausscope_blend_args;
GAUSSCOPE_EXPORT int gausscope_blend(gausscope_blend_args* args);
GAUSSCOPE_EXPORT int gausscope_blend_vjp(gausscope_blend_args* args);
GAUSSCOPE_EXPORT void gausscope_lists_free(gausscope_lists* lists); /* null is fine */

#ifdef __cplusplus
}
#endif
#endif
