// A folder that goes away with the test.
#pragma once

#include <stdlib.h>

#include "base/check.h"
#include "base/file.h"

namespace gs::test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (fs::temp_directory_path() / "gausscope_test_XXXXXX").string();
        CHECK(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    fs::path operator/(const fs::path& name) const { return path_ / name; }
    operator const fs::path&() const { return path_; }
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

}  // namespace gs::test
