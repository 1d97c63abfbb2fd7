#include "profiler/sample/sampled_process.h"

#include <sys/uio.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/record/clock.h"
#include "base/record/process.h"

namespace gs::sample {
namespace {

constexpr std::size_t kMostSamples = 65536;  // in a batch that nobody takes

std::string program_of(std::uint32_t pid, const std::string& otherwise) {
    std::error_code error;
    const auto path = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
    const std::string name = path.filename().string();
    return error ? otherwise : name.substr(0, name.find(" (deleted)"));
}

/// The number of a thread where it runs: in the innermost container. 0: it is gone.
std::uint32_t number_inside(std::uint32_t pid, std::uint32_t tid) {
    std::ifstream status(fmt::format("/proc/{}/task/{}/status", pid, tid));
    constexpr std::string_view kNumbers = "NSpid:";
    std::uint32_t number = 0;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(kNumbers))
            for (std::istringstream in(line.substr(kNumbers.size())); in >> number;) continue;
    return number;
}

bool is_evaluation(const FrameEvent& frame) {
    return frame.function.starts_with("_PyEval_EvalFrameDefault");
}

/// What a waiting thread left on its stack. Two of its registers are known; the others are there
/// where functions saved them.
PerfRecord record_of(std::uint32_t pid, const BlockedThread& thread, std::int64_t now_ns) {
    PerfRecord out{.time_ns = now_ns, .pid = pid, .tid = thread.tid};
    if (thread.stack_pointer == 0) return out;
    out.registers.known = true;
    out.registers.value[UserRegisters::kStackPointer] = thread.stack_pointer;
    out.registers.value[UserRegisters::kProgramCounter] = thread.program_counter;
    out.addresses.push_back(thread.program_counter);
    out.stack.resize(kStackBytes);
    iovec to{out.stack.data(), out.stack.size()};
    iovec from{reinterpret_cast<void*>(thread.stack_pointer), out.stack.size()};
    const ssize_t bytes = ::process_vm_readv(static_cast<pid_t>(pid), &to, 1, &from, 1, 0);
    out.stack.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return out;
}

}  // namespace

SampledProcess::SampledProcess(std::uint32_t pid, std::uint64_t source,
                               std::shared_ptr<SymbolFiles> files)
    : pid_(pid),
      source_(source),
      files_(std::move(files)),
      image_(std::make_unique<ProcessImage>(pid, files_)),
      blocked_(pid) {
    identify();
}

void SampledProcess::identify() {
    if (start_ == 0) start_ = process_stat(pid_).start;
    if (pid_inside_ == 0) pid_inside_ = number_inside(pid_, pid_);
}

/// Rings also have these numbers.
std::uint32_t SampledProcess::tid_inside(std::uint32_t tid) {
    if (pid_inside_ == 0 || pid_inside_ == pid_) return tid;
    std::uint32_t& inside = tids_inside_[tid];
    if (inside == 0) inside = number_inside(pid_, tid);
    return inside != 0 ? inside : tid;
}

void SampledProcess::adopt() {
    name_ = program_of(pid_, name_.empty() ? "?" : name_);
    threads_ = threads_of(pid_);
    image_->map_all();
}

bool SampledProcess::renew(std::int64_t now) {
    constexpr std::int64_t kInterval = 1'000'000'000;
    if (!doubtful_ || now - renewed_ns_ < kInterval) return true;
    renewed_ns_ = now;
    identify();
    const ProcessStat stat = process_stat(pid_);
    const std::size_t threads = threads_of(pid_).size();
    const bool there = stat.start == start_ && threads > (stat.state == 'Z' ? 1 : 0);
    // That it has ended may still be among the records to come.
    if (!there) return !std::exchange(gone_, true);
    doubtful_ = gone_ = false;
    if (program_of(pid_, name_) != name_) begin_program(name_, program_ns_);
    adopt();
    return true;
}

/// That its parent made it may be read after what it did then.
void SampledProcess::inherit(const SampledProcess& parent, std::int64_t time_ns) {
    if (time_ns < program_ns_) return;
    name_ = parent.name_;
    for (const CodeMapping& mapping : parent.image_->mappings()) image_->map(mapping);
}

void SampledProcess::begin_program(const std::string& name, std::int64_t time_ns) {
    name_ = program_of(pid_, name);
    program_ns_ = time_ns;
    identify();
    image_ = std::make_unique<ProcessImage>(pid_, files_);
    python_.reset();
    python_sought_ = 0;
    waiting_.clear();
    threads_ = {pid_};  // exec ends all others
}

void SampledProcess::map(const PerfRecord& record) {
    image_->map({record.address, record.length, record.offset, record.path});
}

bool SampledProcess::end_thread(std::uint32_t tid) {
    std::erase(threads_, tid);
    thread_names_.erase(tid);
    tids_inside_.erase(tid);
    waiting_.erase(tid);
    return !threads_.empty();
}

/// The interpreter may be there long before it has begun: until then it is asked at each sample.
std::vector<PythonFrame> SampledProcess::python_of(const PerfRecord& sample) {
    if (python_ == nullptr && python_sought_ != image_->mappings().size()) {
        python_ = PythonReader::find(pid_, *image_, python_remark_);
        const bool may_begin =
            std::any_of(image_->mappings().begin(), image_->mappings().end(),
                        [](const CodeMapping& m) { return python_version_in(m.path) != 0; });
        if (!may_begin || !python_remark_.empty()) python_sought_ = image_->mappings().size();
    }
    return python_ != nullptr ? python_->stack_of(sample) : std::vector<PythonFrame>();
}

/// Python functions take the place of the evaluation that runs them: one evaluation runs all up to
/// the one that native code called.
SampledProcess::Frames SampledProcess::frames_of(const PerfRecord& sample) {
    const std::vector<PythonFrame> python = python_of(sample);  // first: it moves on
    const std::vector<std::uint64_t> addresses = image_->unwind(sample);
    Frames out;
    std::size_t next = 0;
    for (std::size_t a = 0; a < addresses.size(); ++a) {
        const FrameEvent& native = image_->frame_at(addresses[a], a > 0);
        if (!is_evaluation(native) || next == python.size()) {
            out.push_back(native);
            continue;
        }
        while (next < python.size()) {
            out.push_back(python[next].frame);
            if (python[next++].entry) break;
        }
    }
    for (; next < python.size(); ++next) out.push_back(python[next].frame);
    return out;
}

void SampledProcess::add(const Frames& frames, SampleEvent sample) {
    if (frames.empty() || batch_.samples.size() >= kMostSamples) return;
    sample.stack = stacks_.add(batch_, frames);
    sampled_.insert(sample.tid);
    sample.tid = tid_inside(sample.tid);
    batch_.samples.push_back(sample);
}

void SampledProcess::take(const PerfRecord& sample, std::int64_t weight_ns) {
    add(frames_of(sample), {sample.time_ns, weight_ns, sample.tid, 0, false});
}

void SampledProcess::look_at_blocked(std::int64_t now, std::int64_t weight_ns) {
    for (const BlockedThread& thread : blocked_.look(threads_)) {
        Frames& frames = waiting_[thread.tid];
        if (thread.moved || frames.empty()) {
            frames = frames_of(record_of(pid_, thread, now));
            frames.insert(frames.begin(),
                          {"blocked in " + thread.where, "", "kernel", 0, FrameKind::blocked});
        }
        add(frames, {now, weight_ns, thread.tid, 0, true});
    }
}

/// The system's names. A thread may get its own after it has begun.
void SampledProcess::name_threads(std::int64_t now) {
    constexpr std::int64_t kInterval = 1'000'000'000;
    const bool again = now - named_ns_ >= kInterval;
    if (again) named_ns_ = now;
    for (const std::uint32_t tid : sampled_) {
        if (!again && thread_names_.contains(tid)) continue;
        std::ifstream file(fmt::format("/proc/{}/task/{}/comm", pid_, tid));
        std::string name;
        if (!std::getline(file, name)) continue;
        for (char& c : name)
            if (c < 0x20 || c > 0x7E) c = '?';  // perhaps cut within a character
        if (thread_names_[tid] != name)
            batch_.thread_names.push_back({tid_inside(tid), thread_names_[tid] = name});
    }
}

TraceBatch SampledProcess::hand_over(std::int64_t now, bool ended) {
    // That it ended is news of a process that was ever sampled; others are none of this trace's.
    if (batch_.samples.empty() && !(ended && handed_over_)) return {};
    handed_over_ = true;
    if (!ended) name_threads(now);
    sampled_.clear();
    batch_.source = source_;
    batch_.pid = pid_inside_ != 0 ? pid_inside_ : pid_;
    batch_.visible_pid = pid_;
    batch_.process_start = start_;
    batch_.process_name = name_;
    batch_.read_ns = now;
    batch_.ended = ended;
    batch_.realtime_offset_ns = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)) - now;
    stacks_.clear();
    return std::exchange(batch_, {});
}

}  // namespace gs::sample
