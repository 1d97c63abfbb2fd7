#include "profiler/sample/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/record/clock.h"
#include "base/try.h"

namespace gs::sample {
namespace {

constexpr std::size_t kRingBytes = 512 << 10;  // what a user without rights may lock on a CPU
// The general registers of x86-64 by their numbers in <asm/perf_regs.h>, segments left out.
constexpr std::uint64_t kRegisterMask = 0xff01ff;

int perf_event_open(perf_event_attr& attributes, std::uint32_t tid, int cpu) {
    return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, static_cast<pid_t>(tid),
                                      cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr attributes_for(const PerfOptions& options, bool on_exec, bool without_kernel) {
    perf_event_attr a{};
    a.size = sizeof a;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_CPU_CLOCK;
    a.freq = 1;
    a.sample_freq = static_cast<std::uint64_t>(options.hz);
    a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    if (options.with_stack) {
        a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        a.sample_regs_user = kRegisterMask;
        a.sample_stack_user = kStackBytes;
    }
    a.exclude_kernel = without_kernel ? 1 : 0;
    a.exclude_callchain_kernel = a.exclude_hv = a.exclude_idle = 1;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    a.inherit = a.mmap = a.mmap2 = a.task = a.comm = a.comm_exec = a.sample_id_all = 1;
    a.disabled = a.enable_on_exec = on_exec ? 1 : 0;
    a.wakeup_events = 1;  // at once: a Python stack is read while it is still that of the sample
    return a;
}

std::vector<int> online_cpus() {
    std::vector<int> out;
    std::ifstream file("/sys/devices/system/cpu/online");
    int first = 0, last = 0;
    for (char mark = 0; file >> first; mark = 0) {  // "0-3,8"
        last = first;
        if (file.get(mark) && mark == '-' && file >> last) file.get(mark);
        for (int cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
    }
    if (out.empty()) out.push_back(0);
    return out;
}

tl::unexpected<Error> refused(int error) {
    int paranoid = -9;
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
    if (error == EMFILE)
        return fail(ErrorKind::unsupported, "",
                    "the limit of open files is too low for call stacks",
                    "raise the limit: ulimit -n");
    if (error == ENOENT || error == ENOSYS || error == EOPNOTSUPP || error == ENODEV)
        return fail(ErrorKind::unsupported, "", "this kernel cannot sample call stacks");
    if ((error == EACCES || error == EPERM) && paranoid > 2)
        return fail(
            ErrorKind::unsupported, "",
            fmt::format("kernel.perf_event_paranoid is {}, which forbids call stacks", paranoid),
            "as root: sysctl kernel.perf_event_paranoid=2");
    if (error == EACCES || error == EPERM)
        return fail(ErrorKind::unsupported, "", "the system forbids call stacks",
                    "the process is another user's, or a container without perf_event_open "
                    "(docker run --cap-add PERFMON, or a seccomp profile that allows it)");
    return fail(ErrorKind::unsupported, "",
                fmt::format("call stacks cannot be sampled: {}", std::strerror(error)));
}

/// Fields of a record, one after the other; what is not there is zero.
class Fields {
  public:
    explicit Fields(std::vector<std::byte>& bytes) : bytes_(bytes) {}
    template <class T>
    T next() {
        T out{};
        if (left() >= sizeof out) std::memcpy(&out, bytes_.data() + at_, sizeof out);
        at_ += sizeof out;
        return out;
    }
    std::size_t left() const { return at_ < bytes_.size() ? bytes_.size() - at_ : 0; }
    const std::byte* here() const { return bytes_.data() + std::min(at_, bytes_.size()); }
    void skip(std::size_t n) { at_ += n; }
    std::string text() const {
        const char* const begin = reinterpret_cast<const char*>(here());
        return {begin, ::strnlen(begin, left())};
    }

  private:
    std::vector<std::byte>& bytes_;
    std::size_t at_ = 0;
};

void read_registers(Fields& f, UserRegisters& out) {
    if (f.next<std::uint64_t>() != PERF_SAMPLE_REGS_ABI_64) return;
    // AX BX CX DX SI DI BP SP IP, then R8 to R15; DWARF: AX DX CX BX SI DI BP SP, R8 to R15, IP.
    constexpr std::array<std::uint8_t, UserRegisters::kCount> kPlace{
        0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
    for (const std::uint8_t place : kPlace) out.value[place] = f.next<std::uint64_t>();
    out.known = true;
}

void read_sample(Fields& f, const PerfOptions& options, PerfRecord& out) {
    out.pid = f.next<std::uint32_t>();
    out.tid = f.next<std::uint32_t>();
    out.time_ns = static_cast<std::int64_t>(f.next<std::uint64_t>());
    for (auto n = f.next<std::uint64_t>(); n > 0 && f.left() > 0; --n)
        if (const auto address = f.next<std::uint64_t>(); address < PERF_CONTEXT_MAX)
            out.addresses.push_back(address);
    if (!options.with_stack) return;
    // A thread without own code has no registers: one of the kernel's.
    read_registers(f, out.registers);
    const auto room = f.next<std::uint64_t>();
    if (room == 0 || room > f.left()) return;
    const std::byte* const begin = f.here();
    f.skip(room);
    const auto filled = std::min(f.next<std::uint64_t>(), room);
    out.stack.assign(begin, begin + filled);
}

void read_mapping(Fields& f, PerfRecord& out) {
    out.pid = f.next<std::uint32_t>();
    out.tid = f.next<std::uint32_t>();
    out.address = f.next<std::uint64_t>();
    out.length = f.next<std::uint64_t>();
    out.offset = f.next<std::uint64_t>();
    f.skip(24 + 8);  // device, file number and generation; protection and flags
    out.path = f.text();
}

/// False: nothing of interest.
bool read_record(std::vector<std::byte>& bytes, const PerfOptions& options, PerfRecord& out,
                 std::uint64_t& lost) {
    Fields f(bytes);
    const auto header = f.next<perf_event_header>();
    using Kind = PerfRecord::Kind;
    switch (header.type) {
        case PERF_RECORD_SAMPLE:
            read_sample(f, options, out);
            return true;
        case PERF_RECORD_MMAP2:
            out.kind = Kind::mapping;
            read_mapping(f, out);
            break;
        case PERF_RECORD_COMM:
            if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) == 0) return false;
            out.kind = Kind::program;
            out.pid = f.next<std::uint32_t>();
            out.tid = f.next<std::uint32_t>();
            out.path = f.text();
            break;
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT:
            out.kind = header.type == PERF_RECORD_FORK ? Kind::start : Kind::end;
            out.pid = f.next<std::uint32_t>();
            out.parent = f.next<std::uint32_t>();
            out.tid = f.next<std::uint32_t>();
            break;
        case PERF_RECORD_LOST:
            f.skip(8);
            lost += f.next<std::uint64_t>();
            return false;
        default:
            return false;
    }
    if (bytes.size() >= 8)  // sample_id_all: the time comes last
        std::memcpy(&out.time_ns, bytes.data() + bytes.size() - 8, 8);
    return true;
}

}  // namespace

std::vector<std::uint32_t> threads_of(std::uint32_t pid) {
    std::vector<std::uint32_t> out;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
        const std::string name = entry.path().filename().string();
        std::uint32_t tid = 0;
        std::from_chars(name.data(), name.data() + name.size(), tid);
        if (tid != 0) out.push_back(tid);
    }
    return out;
}

/// The buffer of one CPU, and the event whose buffer it is.
struct PerfEvents::Ring {
    int fd = -1, cpu = 0;
    perf_event_mmap_page* page = nullptr;
    std::size_t bytes = 0;
    PerfOptions options;

    Ring(int f, int c, const PerfOptions& o) : fd(f), cpu(c), options(o) {}
    Ring(Ring&& other) noexcept
        : fd(std::exchange(other.fd, -1)),
          cpu(other.cpu),
          page(std::exchange(other.page, nullptr)),
          bytes(other.bytes),
          options(other.options) {}
    ~Ring() {
        if (page != nullptr) ::munmap(page, bytes);
        if (fd >= 0) ::close(fd);
    }
    bool map() {
        const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        for (std::size_t data = kRingBytes; data >= 2 * kStackBytes; data /= 2) {
            bytes = page_bytes + data;
            void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (at == MAP_FAILED) continue;
            page = static_cast<perf_event_mmap_page*>(at);
            return true;
        }
        return false;
    }
    void take(std::vector<PerfRecord>& out, std::uint64_t& lost) {
        const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        std::vector<std::byte> record;
        std::uint64_t tail = page->data_tail;
        while (tail < head) {
            perf_event_header header;
            copy(tail, &header, sizeof header);
            if (header.size < sizeof header) break;  // cannot be
            record.resize(header.size);
            copy(tail, record.data(), header.size);
            tail += header.size;
            PerfRecord made;
            if (read_record(record, options, made, lost)) out.push_back(std::move(made));
        }
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    }
    void copy(std::uint64_t from, void* to, std::size_t n) const {
        const auto* const data = reinterpret_cast<const std::byte*>(page) + page->data_offset;
        const std::size_t at = from % page->data_size;
        const std::size_t first = std::min<std::size_t>(n, page->data_size - at);
        std::memcpy(to, data + at, first);
        std::memcpy(static_cast<std::byte*>(to) + first, data, n - first);
    }
};

PerfEvents::PerfEvents() = default;
PerfEvents::PerfEvents(PerfEvents&&) noexcept = default;
PerfEvents::~PerfEvents() {
    for (const int fd : others_) ::close(fd);
}

Result<void> PerfEvents::open_rings(std::uint32_t tid, const PerfOptions& options, bool on_exec) {
    for (const int cpu : online_cpus()) {
        perf_event_attr a = attributes_for(options, on_exec, without_kernel_);
        int fd = perf_event_open(a, tid, cpu);
        if (fd < 0 && errno == EACCES && !without_kernel_) {
            without_kernel_ = true;
            a.exclude_kernel = 1;
            fd = perf_event_open(a, tid, cpu);
        }
        if (fd < 0 && errno == ENODEV) continue;  // gone offline
        if (fd < 0) return refused(errno);
        rings_.emplace_back(fd, cpu, options);
        if (!rings_.back().map())
            return fail(ErrorKind::unsupported, "",
                        "the limit of locked memory is too low for call stacks",
                        "raise the limit: ulimit -l, or sysctl kernel.perf_event_mlock_kb");
    }
    if (rings_.empty()) return refused(ENODEV);
    return {};
}

bool PerfEvents::open_thread(std::uint32_t tid, const PerfOptions& options) {
    for (const Ring& ring : rings_) {
        perf_event_attr a = attributes_for(options, false, without_kernel_);
        const int fd = perf_event_open(a, tid, ring.cpu);
        if (fd < 0) return errno == ESRCH;  // it has ended: nothing is missing
        others_.push_back(fd);
        if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring.fd) != 0) return false;
    }
    return true;
}

Result<PerfEvents> PerfEvents::of_next_program(const PerfOptions& options) {
    PerfEvents out;
    GS_TRY_VOID(out.open_rings(0, options, true));
    return out;
}

Result<PerfEvents> PerfEvents::of_process(std::uint32_t pid, const PerfOptions& options) {
    rlimit files{};  // an event for every thread on every CPU
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
    }
    const std::vector<std::uint32_t> threads = threads_of(pid);
    if (threads.empty()) return fail(ErrorKind::unreadable, "", fmt::format("no process {}", pid));
    PerfEvents out;
    GS_TRY_VOID(out.open_rings(threads.front(), options, false));
    for (std::size_t t = 1; t < threads.size(); ++t)
        out.left_out_ += out.open_thread(threads[t], options) ? 0 : 1;
    return out;
}

void PerfEvents::wait(int milliseconds) const {
    std::vector<pollfd> all;
    for (const Ring& ring : rings_) all.push_back({ring.fd, POLLIN, 0});
    // Where the events' process has ended each of them is ready for ever, with nothing to take.
    if (::poll(all.data(), all.size(), milliseconds) <= 0) return;
    const bool any = std::any_of(all.begin(), all.end(),
                                 [](const pollfd& p) { return (p.revents & POLLIN) != 0; });
    if (!any) ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
}

void PerfEvents::take(std::vector<PerfRecord>& out) {
    // A ring that has been read may get a record older than what the others then hold.
    const std::int64_t until = now_ns();
    for (Ring& ring : rings_) ring.take(waiting_, lost_);
    move_until(until, waiting_, out);
}

void move_until(std::int64_t until, std::vector<PerfRecord>& from, std::vector<PerfRecord>& to) {
    const auto time = &PerfRecord::time_ns;
    std::ranges::stable_sort(from, {}, time);
    const auto end = std::ranges::upper_bound(from, until, {}, time);
    std::move(from.begin(), end, std::back_inserter(to));
    from.erase(from.begin(), end);
}

}  // namespace gs::sample
