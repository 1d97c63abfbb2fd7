/* The C interface of libgausscope_ops.so. Plain C, no exceptions: every function that computes
 * returns 0 or a code of gausscope_code, with a sentence in the caller's error text. */
#ifndef GAUSSCOPE_OPS_H_
#define GAUSSCOPE_OPS_H_

#include <stdint.h>

#define GAUSSCOPE_EXPORT __attribute__((visibility("default")))
#ifdef __cplusplus
extern "C" {
#endif

/** "0.1.0". */
GAUSSCOPE_EXPORT const char* gausscope_version(void);

#ifdef __cplusplus
}
#endif
#endif
