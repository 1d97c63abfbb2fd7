// The table of files that the build put into the program; the source of embedded_files() is written
// by tools/cmake/assets.cmake. Used by assets.cpp alone.
#pragma once

#include <span>

namespace gs {

struct EmbeddedFile {
    const char* path;  ///< below assets/
    const char* begin;
    const char* end;
};
std::span<const EmbeddedFile> embedded_files();

}  // namespace gs
