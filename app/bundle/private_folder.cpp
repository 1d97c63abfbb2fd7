#include "app/bundle/private_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gs {
namespace {

constexpr const char* kFolderName = "gausscope-bundle-";
constexpr const char* kFolderLock = ".used";

/// Takes the lock of an unused folder; -1: it is in use.
int take_lock(const fs::path& folder, int flags) {
    const int lock = ::open((folder / kFolderLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags,
                            S_IRUSR | S_IWUSR);
    if (lock < 0) return -1;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
    ::close(lock);
    return -1;
}

bool is_own_folder(const fs::path& path) {
    struct stat of {};
    return ::lstat(path.c_str(), &of) == 0 && S_ISDIR(of.st_mode) && of.st_uid == ::geteuid();
}

/// Of processes that were killed. One without a lock may be about to get it.
void remove_left(const fs::path& parent) {
    std::error_code error;
    for (auto it = fs::directory_iterator(parent, error); !error && it != fs::end(it);
         it.increment(error)) {
        const fs::path& folder = it->path();
        if (folder.filename().string().rfind(kFolderName, 0) != 0 || !is_own_folder(folder))
            continue;
        const int lock = take_lock(folder, 0);
        if (lock < 0) continue;
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        ::close(lock);
    }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error)
        return fail(ErrorKind::unwritable, "", "no temporary folder: " + error.message(),
                    "set TMPDIR to a folder");
    remove_left(parent);
    std::string pattern = (parent / (std::string(kFolderName) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr)
        return fail(ErrorKind::unwritable, parent.string(),
                    std::string("cannot create a folder there: ") + std::strerror(errno),
                    "set TMPDIR to another folder");
    PrivateFolder out;
    out.path_ = pattern;
    out.lock_ = take_lock(out.path_, O_CREAT);
    if (out.lock_ < 0)
        return fail(ErrorKind::unwritable, out.path_.string(), "cannot write there",
                    "set TMPDIR to another folder");
    return out;
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(lock_, other.lock_);
    return *this;
}

PrivateFolder::~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
    if (lock_ >= 0) ::close(lock_);
}

}  // namespace gs
