#include "renderer/io/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gs {

Result<InputFile> InputFile::open(const fs::path& path) {
    InputFile file;
    file.path_ = path.string();
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.descriptor_ < 0) {
        const int code = errno;
        return fail(code == ENOENT ? ErrorKind::not_found : ErrorKind::unreadable, file.path_,
                    fmt::format("cannot be opened: {}", std::strerror(code)));
    }
    struct stat status {};
    if (::fstat(file.descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
        return fail(ErrorKind::unreadable, file.path_, "is not a regular file");
    file.size_ = static_cast<std::uint64_t>(status.st_size);
    return file;
}

InputFile InputFile::of_bytes(std::vector<std::byte> bytes, std::string path) {
    InputFile file;
    file.size_ = bytes.size();
    file.bytes_ = std::move(bytes);
    file.path_ = std::move(path);
    return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::move(other.bytes_)),
      size_(other.size_),
      path_(std::move(other.path_)) {}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    if (descriptor_ < 0 && !out.empty()) {
        if (offset > size_ || out.size() > size_ - offset)
            return fail_at_byte(path_, size_, "the data ends too early");
        std::memcpy(out.data(), bytes_.data() + offset, out.size());
        return {};
    }
    while (!out.empty()) {
        const ssize_t n = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return fail(ErrorKind::unreadable, path_,
                        fmt::format("read failed: {}", std::strerror(errno)));
        if (n == 0) return fail_at_byte(path_, offset, "the file ends too early");
        offset += static_cast<std::uint64_t>(n);
        out = out.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

}  // namespace gs
