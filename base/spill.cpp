#include "base/spill.h"
#include "base/try.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gs {
namespace {

int spill_folder = -1;  // open until the process ends

/// An unnamed file with its space allocated: a disk that fills up later would end the process.
int nameless_file(std::size_t bytes) {
    const int file = ::openat(spill_folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    int failed = 0;
    do {
        failed = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    } while (failed == EINTR);
    if (failed == 0) return file;
    ::close(file);
    return -1;
}

}  // namespace

Result<void> spill_to(const fs::path& folder) {
    GS_TRY_VOID(make_folder(folder));
    const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return fail(ErrorKind::unwritable, folder.string(), std::strerror(errno));
    struct statfs system {};
    if (::fstatfs(directory, &system) == 0 &&
        (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) {
        ::close(directory);
        return fail(ErrorKind::unsupported, folder.string(), "this folder is in memory",
                    "choose one on a disk");
    }
    const int file = ::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) {
        const int why = errno;
        ::close(directory);
        return fail(ErrorKind::unwritable, folder.string(),
                    std::string("it does not support unnamed files: ") + std::strerror(why));
    }
    ::close(file);
    if (spill_folder >= 0) ::close(spill_folder);
    spill_folder = directory;
    return {};
}

namespace detail {

void* map_pages(std::size_t bytes) noexcept {
    void* pages = MAP_FAILED;
    if (spill_folder >= 0) {
        const int file = nameless_file(bytes);
        if (file >= 0) {
            pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            ::close(file);
        }
    }
    if (pages == MAP_FAILED)
        pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept { ::munmap(pages, bytes); }

}  // namespace detail
}  // namespace gs
