// Errors of a disk: the ones that no other path or permission would have avoided. A command that
// meets one has failed while running. The system's own words tell, since every writer passes them
// on: files, databases, videos.
#pragma once

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string>

#include "base/expected.h"

namespace gs {

inline bool is_of_disk(int code) {
    return code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO;
}
inline bool says_one_of(const Error& error, std::initializer_list<int> codes) {
    if (error.kind != ErrorKind::unwritable) return false;
    for (const int code : codes)
        if (error.message.find(std::strerror(code)) != std::string::npos) return true;
    return false;
}
inline bool is_of_disk(const Error& error) {
    return says_one_of(error, {ENOSPC, EDQUOT, EFBIG, EIO});
}
/// Removing files would help.
inline bool is_full_disk(const Error& error) { return says_one_of(error, {ENOSPC, EDQUOT}); }

}  // namespace gs
