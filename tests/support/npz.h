// Reader of NumPy archives: a zip (stored or deflated) of .npy files. Sources: PKWARE
// APPNOTE 6.3.3, NumPy format 1.0-3.0.
#pragma once

#include "base/file.h"
#include "tests/support/arrays.h"

namespace gs::test {

/// Types f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 and U (text), little-endian, C or Fortran order. A broken
/// file throws BadData.
Arrays load_npz(const fs::path& path);
/// One .npy file.
Array load_npy(const fs::path& path);

}  // namespace gs::test
