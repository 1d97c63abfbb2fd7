#include "tests/support/data.h"

#include <cstdlib>

namespace gs::test {

fs::path data_folder() {
    if (const char* folder = std::getenv("GAUSSCOPE_DATA"); folder != nullptr && *folder != '\0')
        return folder;
    return fs::path(GAUSSCOPE_SOURCE_DIR).parent_path() / "shared" / "data";
}

fs::path data_path(const std::string& relative) { return data_folder() / relative; }

}  // namespace gs::test
