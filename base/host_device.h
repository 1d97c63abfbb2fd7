// GS_HD marks functions that nvcc also compiles for the device. The one place outside device/ that
// looks at the compiler.
#pragma once

#ifdef __CUDACC__
#define GS_HD __host__ __device__
#else
#define GS_HD
#endif
