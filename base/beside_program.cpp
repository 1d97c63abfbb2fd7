#include "base/beside_program.h"

namespace gs {

Result<fs::path> beside_program(const char* name, std::initializer_list<const char*> folders,
                                const char* missing) {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    std::string places;
    for (const char* folder : folders) {
        const fs::path file = program / folder / name;
        if (fs::exists(file, error)) return fs::canonical(file, error);
        if (*folder != 0) places += fmt::format(" or in {}", folder);
    }
    return fail(ErrorKind::not_found, (program / name).string(), missing,
                fmt::format("it is built with gausscope and must be next to it{}", places));
}

}  // namespace gs
