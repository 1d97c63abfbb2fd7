// Where reference data lies: $GAUSSCOPE_DATA, else <repository>/../shared/data. Tests that need a
// file that is not there skip.
#pragma once

#include <gtest/gtest.h>

#include "base/file.h"

namespace gs::test {

fs::path data_folder();
/// data_folder() / relative.
fs::path data_path(const std::string& relative);

}  // namespace gs::test

/// In a test body: skips the test with a plain message when the file or folder is absent.
#define GS_NEED_DATA(relative)                                                 \
    if (!std::filesystem::exists(::gs::test::data_path(relative)))             \
    GTEST_SKIP() << "no reference data at " << ::gs::test::data_path(relative) \
                 << " (set GAUSSCOPE_DATA to the data folder)"
