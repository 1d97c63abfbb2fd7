#include "profiler/collect/client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/record/local_socket.h"
#include "base/try.h"

namespace gs::service {
namespace {

constexpr int kPatienceSeconds = 2;
constexpr auto kGreetingPatience =
    std::chrono::seconds(10);  // at a lower priority, on a machine that has more to do

/// "1234.nvtx.sock", "1234-2.own.sock" -> a producer.
std::optional<Producer> producer_of(const fs::path& socket) {
    const std::string name = socket.filename().string();
    Producer out;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), out.pid);
    if (error != std::errc() || out.pid == 0) return std::nullopt;
    const std::size_t dot = name.find('.');
    const std::size_t end = name.rfind(".sock");
    if (dot == std::string::npos || end == std::string::npos || end <= dot ||
        end + 5 != name.size())
        return std::nullopt;
    if (*rest != '.' && *rest != '-') return std::nullopt;
    out.role = name.substr(dot + 1, end - dot - 1);
    if (out.role != "own" && out.role != "nvtx") return std::nullopt;
    out.socket = socket;
    return out;
}

Result<Descriptor> open_directory(const fs::path& path, bool create) {
    char why[kWhyBytes];
    Descriptor fd(open_private_directory(path.c_str(), create, why));
    if (!fd)
        return fail(ErrorKind::unreadable, path.string(), why,
                    fmt::format("name another one in {}", kDirectoryVariable));
    return fd;
}

/// Waits no longer than kPatienceSeconds in send() and recv().
void make_patient(int socket) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    const timeval patience{kPatienceSeconds, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

/// Waits for a place in its queue, when there is a crowd.
int connect_patiently(int directory, const fs::path& socket, std::chrono::seconds patience) {
    const fs::path folder = socket.parent_path(), name = socket.filename();
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const int fd = connect_in(directory, folder.c_str(), name.c_str());
        if (fd >= 0 || errno != EAGAIN || std::chrono::steady_clock::now() >= until) return fd;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

std::uint32_t pid_of_peer(int socket) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    const bool known =
        ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0;
    return known ? static_cast<std::uint32_t>(peer.pid) : 0;
}

std::uint64_t next_source() {
    static std::atomic<std::uint64_t> last{
        0};  // 0 is "the only one", as a reader without a connection says
    return ++last;
}

}  // namespace

Result<fs::path> runtime_directory() {
    char path[512];
    if (!runtime_directory_path(path, sizeof path))
        return fail(ErrorKind::usage, "", "the path of the runtime directory is too long");
    GS_TRY(const Descriptor is_safe, open_directory(path, true));
    return fs::path(path);
}

namespace {

/// As far as they can be read: it may be another user's, on any file system.
std::vector<fs::path> entries_of(const fs::path& directory) {
    std::vector<fs::path> out;
    std::error_code error;
    for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator();
         at.increment(error))
        out.push_back(at->path());
    return out;
}

/// For root: the directory that all users share, where root's processes that came before it was
/// shared have their sockets. Null: there is none, or this is not root.
const char* roots_shared_directory() { return ::geteuid() == 0 ? shared_directory() : nullptr; }

/// Where a producer's socket lies.
Result<Descriptor> directory_of(const Producer& producer) {
    const fs::path path = producer.socket.parent_path();
    const char* shared = roots_shared_directory();
    if (shared == nullptr || path != shared) return open_directory(path, false);
    return Descriptor(::open(shared, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_socket_of_root(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) && status.st_uid == 0;
}

/// Where sockets lie: this user's directory, and for root every user's.
std::vector<fs::path> socket_directories() {
    std::vector<fs::path> out;
    if (auto own = runtime_directory()) out.push_back(std::move(*own));
    const char* shared = roots_shared_directory();
    if (shared == nullptr) return out;
    for (fs::path& path : entries_of(shared)) {
        std::error_code error;
        if (fs::is_directory(fs::symlink_status(path, error)) &&
            (out.empty() || path != out.front()))
            out.push_back(std::move(path));
    }
    return out;
}

}  // namespace

Result<void> share_runtime_directory() {
    const char* path = std::getenv(kDirectoryVariable);
    if (::geteuid() != 0 || path == nullptr || path[0] != '/')
        return fail(ErrorKind::usage, path == nullptr ? "" : path,
                    "only root can watch all users, in a separate directory",
                    fmt::format("as root, name one in {}", kDirectoryVariable));
    ::mkdir(path, 0700);
    // Whatever is there is looked at before it is opened to all.
    const Descriptor directory(::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0)
        return fail(ErrorKind::unwritable, path, std::strerror(errno));
    if (status.st_uid != 0)
        return fail(ErrorKind::unwritable, path, "the directory does not belong to root");
    if (shared_directory() == nullptr && ::fchmod(directory.get(), S_ISVTX | 0777) != 0)
        return fail(ErrorKind::unwritable, path, std::strerror(errno));
    return {};
}

std::vector<Producer> list_producers() {
    std::vector<Producer> out;
    for (const fs::path& directory : socket_directories())
        for (const fs::path& path : entries_of(directory))
            if (auto producer = producer_of(path)) out.push_back(std::move(*producer));
    const char* shared = roots_shared_directory();
    if (shared == nullptr) return out;
    for (const fs::path& path : entries_of(shared))
        if (auto producer = producer_of(path); producer && is_socket_of_root(path))
            out.push_back(std::move(*producer));
    return out;
}

std::vector<Producer> find_producers() {
    std::vector<Producer> out = list_producers();
    std::erase_if(out, [](const Producer& producer) {
        const auto directory = directory_of(producer);
        if (!directory) return true;
        const Descriptor socket(connect_in(directory->get(), producer.socket.parent_path().c_str(),
                                           producer.socket.filename().c_str()));
        if (socket) return !trusted_peer(socket.get(), true);
        const bool dead = errno == ECONNREFUSED;
        if (dead) ::unlinkat(directory->get(), producer.socket.filename().c_str(), 0);
        return dead || errno == ENOENT;
    });
    return out;
}

Result<Connection> Connection::begin(const Producer& producer, std::chrono::seconds patience) {
    GS_TRY(const Descriptor directory, directory_of(producer));
    const std::string name = producer.socket.filename().string();
    Connection out;
    out.producer_ = producer;
    out.socket_ = Descriptor(connect_patiently(directory.get(), producer.socket, patience));
    if (!out.socket_) {
        const int why = errno;
        if (why == ECONNREFUSED) ::unlinkat(directory.get(), name.c_str(), 0);
        const bool gone = why == ECONNREFUSED || why == ENOENT;
        return fail(
            gone ? ErrorKind::not_found : ErrorKind::unreadable, producer.socket.string(),
            gone ? fmt::format("process {} no longer exists", producer.pid) : std::strerror(why));
    }
    GS_TRY_VOID(out.say_hello(true));
    return out;
}

Result<Connection> Connection::open(const Producer& producer) {
    GS_TRY(Connection out, begin(producer, std::chrono::seconds(kPatienceSeconds)));
    GS_TRY(const bool greeted, out.greeted(kGreetingPatience));
    if (greeted) return out;
    return fail(ErrorKind::unreadable, producer.socket.string(), "it does not answer",
                "it may be stopped, or the machine very busy");
}

Result<Connection> Connection::adopt(int socket, std::optional<Reply>* excuse) {
    Connection out;
    out.socket_ = Descriptor(socket);
    GS_TRY_VOID(out.say_hello(false));
    const Result<bool> greeted = out.greeted(kGreetingPatience);
    if (!greeted) {
        const bool excused =
            out.card_.answer == static_cast<std::uint32_t>(Answer::not_possible) && excuse;
        if (excused) *excuse = out.card_;
        return tl::unexpected(greeted.error());
    }
    if (!*greeted) return fail(ErrorKind::unreadable, "", "it connected but sent nothing");
    out.reader_->count_past();
    out.producer_.role = out.card_.role;
    out.producer_.pid = out.card_.pid;
    return out;
}

Result<void> Connection::say_hello(bool asks) {
    const std::string where = producer_.socket.string();
    if (!trusted_peer(socket_.get(), true))
        return fail(ErrorKind::unreadable, where, "the process belongs to another user",
                    "attach as that user, or as root");
    visible_pid_ = pid_of_peer(socket_.get());
    make_patient(socket_.get());
    if (asks && !tell(Op::hello))
        return fail(ErrorKind::unreadable, where,
                    fmt::format("cannot send a request to it: {}", std::strerror(errno)));
    return {};
}

// The first Reply, which carries the ring.
Result<bool> Connection::greeted(std::chrono::milliseconds patience) {
    const std::string where = producer_.socket.string();
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return false;
    int descriptor = -1;
    if (!receive_reply(socket_.get(), card_, descriptor))
        return fail(alive() ? ErrorKind::unreadable : ErrorKind::not_found, where,
                    "its answer is not valid",
                    "it may have ended, or use another gausscope version");
    const Descriptor ring(descriptor);
    if (!ring) return fail(ErrorKind::unsupported, where, card_.text);
    GS_TRY(TraceReader reader, TraceReader::attach(ring.get()));
    reader_ = std::make_unique<TraceReader>(std::move(reader));
    source_ = next_source();
    labels_ = labels_of(visible_pid_);
    return true;
}

bool Connection::tell(Op op, std::uint64_t value) {
    const Request request{.op = static_cast<std::uint32_t>(op), .value = value};
    return ::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(sizeof request);
}

std::optional<Reply> Connection::take_answer() {
    pollfd waiting{socket_.get(), POLLIN, 0};
    int descriptor = -1;
    if (::poll(&waiting, 1, 0) <= 0 || !receive_reply(socket_.get(), card_, descriptor))
        return std::nullopt;
    if (descriptor >= 0) ::close(descriptor);
    return card_;
}

Result<Reply> Connection::ask(Op op, std::uint64_t value) {
    const Request request{.op = static_cast<std::uint32_t>(op), .value = value};
    int descriptor = -1;
    const bool sent = ::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(sizeof request);
    if (!sent || !receive_reply(socket_.get(), card_, descriptor))
        return fail(ErrorKind::unreadable, producer_.socket.string(),
                    fmt::format("process {} does not answer", producer_.pid));
    if (descriptor >= 0) ::close(descriptor);
    return card_;
}

// What it sent before it went may be unread.
bool Connection::alive() const {
    pollfd hung_up{socket_.get(), 0, 0};
    return ::poll(&hung_up, 1, 0) <= 0;
}

void Connection::drain(TraceBatch& out) {
    reader_->drain(out);
    out.source = source_;
    out.visible_pid = visible_pid_;
    if (told_labels_ || out.read_ns == 0) return;
    out.labels = labels_;
    told_labels_ = true;
}

// ---- processes that come by themselves ----

Result<CollectorSocket> CollectorSocket::open() {
    GS_TRY(const fs::path folder, runtime_directory());
    GS_TRY(const Descriptor directory, open_directory(folder, true));
    CollectorSocket out;
    const std::string name = fmt::format("{}.collector", ::getpid());
    ::unlinkat(directory.get(), name.c_str(), 0);
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    out.socket_ = Descriptor(fd);
    if (fd < 0 || !bind_in(directory.get(), folder.c_str(), name.c_str(), fd) ||
        ::listen(fd, SOMAXCONN) != 0)
        return fail(
            ErrorKind::unwritable, folder.string(),
            fmt::format("no socket there: {}", std::strerror(errno)),
            errno == ENAMETOOLONG ? "mount /proc, or name a folder with a shorter path" : "");
    out.path_ = folder / name;
    return out;
}

int CollectorSocket::accept() { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC); }

CollectorSocket::~CollectorSocket() {
    if (socket_) ::unlink(path_.c_str());
}

}  // namespace gs::service
