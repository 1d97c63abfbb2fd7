#include "base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/full_disk.h"
#include "base/try.h"

namespace gs {
namespace {

/// The PID at the end of "NAME.tmpPID"; 0: another name.
int writer_of(const std::string& name) {
    const std::size_t at = name.rfind(".tmp");
    if (at == std::string::npos) return 0;
    int process = 0;
    const char *first = name.data() + at + 4, *last = name.data() + name.size();
    const auto read = std::from_chars(first, last, process);
    return read.ec == std::errc() && read.ptr == last && process > 0 ? process : 0;
}

/// Files "NAME.tmpPID" of a folder, as they were when this process first wrote there: a film is
/// thousands of files in one folder.
std::vector<std::string> parts_in(const fs::path& folder) {
    static std::mutex mutex;
    static std::map<fs::path, std::vector<std::string>> known;
    const std::lock_guard lock(mutex);
    const auto [it, is_new] = known.try_emplace(folder);
    std::error_code error;
    if (is_new)
        for (fs::directory_iterator file(folder, error), end; !error && file != end;
             file.increment(error))
            if (std::string name = file->path().filename().string(); writer_of(name) > 0)
                it->second.push_back(std::move(name));
    return it->second;
}

/// A file that nobody holds as AtomicFile::create() does: also no process of another container, or
/// of another machine where the file system has locks.
void remove_unheld(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(descriptor);
}

/// Removes "NAME.tmpPID" of processes that are gone: a killed export leaves its part.
void remove_left_parts(const fs::path& path) {
    const std::string begin = path.filename().string() + ".tmp";
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (const std::string& name : parts_in(folder))
        if (name.starts_with(begin) && name.find('.', begin.size()) == std::string::npos &&
            ::kill(writer_of(name), 0) != 0 && errno == ESRCH)
            remove_unheld(folder / name);
}

tl::unexpected<Error> write_error(const fs::path& path, int code) {
    const char* advice =
        is_of_disk(code) ? "free some space or choose another disk" : "choose another output path";
    return fail(ErrorKind::unwritable, path.string(),
                fmt::format("cannot be written: {}",
                            code == ENOENT ? "there is no such folder" : std::strerror(code)),
                advice);
}

template <class Container>
Result<Container> read_all(const fs::path& path, std::uint64_t max_bytes) {
    // A pipe that nobody writes is refused, not waited for.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        const int code = errno;
        return fail(code == ENOENT ? ErrorKind::not_found : ErrorKind::unreadable, path.string(),
                    fmt::format("cannot be opened: {}", std::strerror(code)));
    }
    struct Closer {
        int descriptor;
        ~Closer() { ::close(descriptor); }
    } closer{descriptor};
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return fail(ErrorKind::unreadable, path.string(), "is not a regular file");
    if (static_cast<std::uint64_t>(status.st_size) > max_bytes)
        return fail(ErrorKind::unreadable, path.string(),
                    fmt::format("is {} bytes long, more than the {} accepted here", status.st_size,
                                max_bytes));
    Container out;
    out.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t n =
            ::read(descriptor, reinterpret_cast<char*>(out.data()) + done, out.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return fail(ErrorKind::unreadable, path.string(),
                        fmt::format("read failed: {}", std::strerror(errno)));
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    out.resize(done);
    return out;
}

}  // namespace

Result<std::vector<std::byte>> read_file(const fs::path& path, std::uint64_t max_bytes) {
    return read_all<std::vector<std::byte>>(path, max_bytes);
}
Result<std::string> read_text_file(const fs::path& path, std::uint64_t max_bytes) {
    return read_all<std::string>(path, max_bytes);
}

bool path_exists(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}
bool file_exists(const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored);
}
bool folder_exists(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder, ignored);
}

Result<void> make_folder(const fs::path& folder, std::string advice) {
    if (folder.empty()) return {};
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) return {};
    if (is_of_disk(error.value())) advice = "free some space or choose another disk";
    return fail(ErrorKind::unwritable, folder.string(),
                "the folder cannot be created: " + error.message(), std::move(advice));
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
    // A device or a pipe would be replaced by a file of its name.
    struct stat there {};
    if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return fail(ErrorKind::unwritable, path.string(), "is not a regular file",
                    "choose another output path");
    AtomicFile file;
    file.final_ = path;
    file.temporary_ = path;
    remove_left_parts(path);
    file.temporary_ += fmt::format(".tmp{}", ::getpid());
    remove_unheld(file.temporary_);  // of an earlier process with our number
    // Never a file that somebody else has put there, who could then read what is written.
    file.descriptor_ =
        ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file.descriptor_ < 0) return write_error(path, errno);
    ::flock(file.descriptor_, LOCK_EX | LOCK_NB);  // says that it is being written
    return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
    if (this != &other) {
        discard();
        descriptor_ = std::exchange(other.descriptor_, -1);
        temporary_ = std::move(other.temporary_);
        final_ = std::move(other.final_);
    }
    return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
    descriptor_ = -1;
}

Result<void> AtomicFile::append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return write_error(final_, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

Result<void> AtomicFile::append(std::string_view text) {
    return append(std::as_bytes(std::span(text)));
}

Result<void> AtomicFile::commit() {
    if (::fsync(descriptor_) != 0) return write_error(final_, errno);
    ::close(std::exchange(descriptor_, -1));
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) {
        const int code = errno;
        ::unlink(temporary_.c_str());
        return write_error(final_, code);
    }
    return {};
}

Result<void> write_file(const fs::path& path, std::span<const std::byte> bytes) {
    GS_TRY(auto file, AtomicFile::create(path));
    if (auto done = file.append(bytes); !done) return done;
    return file.commit();
}

Result<void> write_text_file(const fs::path& path, std::string_view text) {
    return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace gs
