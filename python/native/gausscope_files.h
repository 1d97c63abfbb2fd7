/* Splat files, captures and ranges, behind a C interface. Plain C, no exceptions. A function that
 * can fail returns null or a code other than 0 and fills the caller's gausscope_failure. A handle
 * may be used by several threads at once, and is released once, by one of them. */
#ifndef GAUSSCOPE_FILES_H_
#define GAUSSCOPE_FILES_H_

#include <stddef.h>
#include <stdint.h>

#include "python/native/gausscope_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Texts are UTF-8 with a 0 at the end, cut where they are longer; paths keep their bytes. */
typedef struct gausscope_failure {
    char kind[16]; /**< "not_found", "unreadable", "malformed", "unsupported", "unwritable",
                      "usage", "failed" */
    char path[1024];
    char message[1024];
    char advice[1024];
} gausscope_failure;

typedef struct gausscope_splats gausscope_splats;
typedef struct gausscope_capture gausscope_capture;

/** Any splat format; `lod`: level of a streamed set, 0 the finest. Null where it fails. */
GAUSSCOPE_EXPORT gausscope_splats* gausscope_read_splats(const char* path, int32_t lod,
                                                         gausscope_failure* failure);
/** `count` Gaussians of `sh_degree` (0 to 3), all zero but for identity rotations. Null where
 * memory is short. */
GAUSSCOPE_EXPORT gausscope_splats* gausscope_make_splats(uint64_t count, int32_t sh_degree,
                                                         int32_t antialiased,
                                                         const double origin[3],
                                                         gausscope_failure* failure);
GAUSSCOPE_EXPORT void gausscope_release_splats(gausscope_splats* splats);
/** JSON: count, sh_degree, antialiased, origin, sky (numbers as gausscope_set_sky() takes them),
 * format, notes. Valid as long as the handle. */
GAUSSCOPE_EXPORT const char* gausscope_describe_splats(const gausscope_splats* splats);
/** Planes of renderer/scene/gaussian_model.h as rows: rows[i * planes + p] is plane first + p of
 * Gaussian i. 0: done. */
GAUSSCOPE_EXPORT int32_t gausscope_get_rows(const gausscope_splats* splats, int32_t first,
                                            int32_t planes, float* rows);
GAUSSCOPE_EXPORT int32_t gausscope_set_rows(gausscope_splats* splats, int32_t first, int32_t planes,
                                            const float* rows);
/** The colour behind all Gaussians: sh[(degree + 1)^2][3], degree 0 to 3. 0: done. */
GAUSSCOPE_EXPORT int32_t gausscope_set_sky(gausscope_splats* splats, int32_t degree,
                                           const float* sh);
/** The name's end chooses the format. Returns what it could not hold as JSON, an array of
 * sentences, which stays valid until the next write of this handle; null where it fails. */
GAUSSCOPE_EXPORT const char* gausscope_write_splats(gausscope_splats* splats, const char* path,
                                                    int32_t spz_version,
                                                    gausscope_failure* failure);

/** As the command line's options of the same names. */
typedef struct gausscope_capture_options {
    int32_t downscale;  /**< whole factor; 0: so that the longest side is at most 1600 px */
    int32_t max_side;   /**< px; 0: no limit */
    int32_t test_every; /**< every Nth by name is a test view, 0: none; -1: those the capture lists,
                           else every 8th */
    int32_t undistort;  /**< not 0: photos are resampled to pinholes */
    int32_t photos;     /**< 0: cameras and points only */
    uint64_t photo_memory;  /**< bytes that photos may take; 0: no limit */
    const char* model;      /**< of several the one called so; null: the one of the most photos */
    const char* masks;      /**< folder, "none", or null: masks/ beside the photos */
    const char* test_views; /**< names separated by newlines, or null */
} gausscope_capture_options;

GAUSSCOPE_EXPORT gausscope_capture* gausscope_open_capture(const char* path,
                                                           const gausscope_capture_options* options,
                                                           gausscope_failure* failure);
GAUSSCOPE_EXPORT void gausscope_release_capture(gausscope_capture* capture);
/** JSON: what it is, and `views` with name, test, size, lens and pose. Valid as long as the handle.
 */
GAUSSCOPE_EXPORT const char* gausscope_describe_capture(const gausscope_capture* capture);
/** positions [points][3], colours [points][3]. */
GAUSSCOPE_EXPORT int32_t gausscope_get_points(const gausscope_capture* capture, float* positions,
                                              uint8_t* colors);
/** photo [height][width][3] of view `view`; mask [height][width], 0: ignore this pixel; either may
 * be null. */
GAUSSCOPE_EXPORT int32_t gausscope_get_photo(const gausscope_capture* capture, uint64_t view,
                                             uint8_t* photo, uint8_t* mask,
                                             gausscope_failure* failure);

/** Opens a range of this thread, and closes the one opened last. Cheap where nobody listens. 0:
 * this library was built without NVTX's headers, and nobody can listen. */
GAUSSCOPE_EXPORT int32_t gausscope_push_range(const char* name);
GAUSSCOPE_EXPORT void gausscope_pop_range(void);

#ifdef __cplusplus
}
#endif
#endif
