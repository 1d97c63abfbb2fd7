// The events of a Chrome JSON trace by their phases and categories. What is kept in memory is one
// event, and what ImportEvents collects.
#include "profiler/files/import_formats.h"

#include <charconv>
#include <optional>
#include <set>

#include "profiler/files/chrome_async.h"
#include "profiler/files/chrome_document.h"
#include "profiler/files/export_text.h"
#include "profiler/files/import_numbers.h"
#include "profiler/files/import_passes.h"
#include "profiler/files/loss_reasons.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

using namespace chrome;

constexpr std::int64_t kRoundingNs = 1000;  ///< others write whole microseconds
constexpr std::size_t kMostNames = 1'000'000;

class ChromeReader {
  public:
    ChromeReader(ImportEvents& out, ChromeDocument& document) : out_(out), document_(document) {}

    bool take(JsonEvent& event) {
        event_ = &event;
        if (event.phase == "M") return take_description(), true;
        if (event.category == "fwdbwd" && (event.phase == "s" || event.phase == "f"))
            return take_pass(), true;
        if (!is_known_phase()) return true;
        if (std::string fault = time_fault(event.begin, "ts", document_.own); !fault.empty())
            return out_.notes.skip_at(fault, event.byte), true;
        const std::int64_t begin = nanoseconds(*event.begin).value_or(0);
        if (first_ns_ == 0) first_ns_ = begin;
        constexpr std::uint64_t kBetweenReports = 65536;
        if (++events_ % kBetweenReports == 0 && !out_.go_on(document_.share())) return false;
        take_at(begin);
        return true;
    }

    /// What is known when the whole file has been read.
    void finish() {
        async_.deliver(out_);
        passes_.tell(out_);
        for (Row& row : rows_) {
            TrackInfo& info = out_.info(row.track);
            info.pid = row.pid;
            info.tid = row.tid;
            const auto named = name_of_key_.find(row.key);
            if (named != name_of_key_.end()) row.name = named->second;
            info.name = row.name;
            info.kind = row.kind;
            if (row.kind == TrackKind::thread && (row.gpu || row.name.starts_with("CUDA stream")))
                info.kind = TrackKind::gpu_stream;
        }
        out_.clock.rounding_ns = document_.own ? 0 : kRoundingNs;
        // Without a base the times themselves are those of the wall clock, if they are of this
        // century.
        constexpr std::int64_t kCentury = 946'684'800'000'000'000;
        if (document_.base_ns != 0)
            out_.clock.realtime_offset_ns = document_.base_ns;
        else if (first_ns_ > kCentury)
            out_.clock.realtime_offset_ns = 0;
        if (zero_ != 0) settle_zero();
        ImportedProcess& main = out_.process(0);  // goes to the one with most spans
        main.batch.devices = std::move(document_.devices);
        main.batch.labels = document_.labels;
        for (const std::uint32_t pid : made_up_) {
            ImportedProcess& process = out_.process(pid);
            process.declared = true;
            if (process.batch.process_name.empty()) process.batch.process_name = pids_.written(pid);
        }
    }

  private:
    struct Row {
        std::string key, name;
        std::uint32_t track = kNoTrack, pid = 0, tid = 0;
        bool gpu = false;
        TrackKind kind = TrackKind::thread;
    };

    bool is_known_phase() {
        const std::string& phase = event_->phase;
        if (phase.empty() && event_->name.empty() && !event_->begin)
            return false;  // "{}" at an end
        if (phase.size() == 1 &&
            std::string_view("XBEiIRCbenSFTp").find(phase[0]) != std::string_view::npos)
            return true;
        if ((phase == "s" || phase == "t" || phase == "f") && event_->category == "ac2g")
            out_.notes.pass_over("arrows (launches are known by their correlation)");
        else
            out_.notes.skip_at(phase == "s" || phase == "t" || phase == "f" ? "arrows"
                               : phase.empty()                              ? "events without ph"
                                               : "events of other kinds",
                               event_->byte);
        return false;
    }
    void take_at(std::int64_t begin) {
        const JsonEvent& event = *event_;
        const char phase = event.phase[0];
        std::int64_t end = begin;
        if (phase == 'X') {
            if (const std::string fault = time_fault(event.length, "dur"); !fault.empty())
                return out_.notes.skip_at(fault, event.byte);
            end += nanoseconds(*event.length).value_or(0);
        }
        if (phase == 'C') return take_counters(begin);
        if (phase == 'b' || phase == 'e' || phase == 'S' || phase == 'F')
            return take_overlapping(begin);
        if (phase == 'X' && take_cuda(begin, end)) return;
        Row* const at = row(event.category == "overhead" ? TrackKind::overhead : TrackKind::thread);
        if (at == nullptr) return out_.notes.skip("events on tracks over the limit");
        if (phase == 'i' && event.name == "[memory]") return take_memory(begin);
        if (phase == 'X' || phase == 'B' || phase == 'E') return take_span(*at, begin, end);
        out_.add_instant(
            {begin, event.payload, at->track, out_.name(event.name), event.payload_kind});
    }
    void take_span(Row& at, std::int64_t begin, std::int64_t end) {
        const char phase = event_->phase[0];
        at.gpu = at.gpu || event_->category == "gpu_stage";
        using Kind = ImportedEvent::Kind;
        ImportedEvent span = span_of_event(begin);
        span.kind = phase == 'X' ? Kind::whole : phase == 'B' ? Kind::begin : Kind::end;
        span.end_ns = end;
        if (phase == 'E') span.name = 0;
        span.flow = event_->number("correlation");
        span.not_ended = phase == 'X' && event_->number("not ended") != 0;
        take_collective(span);
        out_.add(at.track, span);
    }
    ImportedEvent span_of_event(std::int64_t begin) {
        ImportedEvent span{.begin_ns = begin, .end_ns = begin};
        std::string_view domain = event_->category;
        domain = domain.starts_with("nvtx:") ? domain.substr(5) : std::string_view();
        span.name = out_.name(event_->name, domain);
        if (!event_->nvtx_category.empty())
            span.category = out_.category(event_->nvtx_category, domain);
        span.payload = event_->payload;
        span.has_payload = event_->has_payload;
        span.payload_kind = event_->payload_kind;
        return span;
    }

    // ---- whose an event is
    static std::string_view text_of(const std::optional<Scalar>& of) {
        return of ? std::string_view(of->text) : std::string_view();
    }
    /// The number of the event's process; what torch writes of itself is the main one's.
    std::uint32_t pid() {
        const std::string_view written = text_of(event_->pid);
        if (event_->category == "Trace" && (written == "Spans" || written == "Traces")) return 0;
        if (event_->category == "overhead" && written == "-1") return 0;
        if (written == "0") return zero_ != 0 ? zero_ : zero_ = pids_.made_up(written);
        const std::uint32_t number = pids_.of(written);
        if (ImportNumbers::is_made_up(number)) made_up_.insert(number);
        return number;
    }
    /// The same of GPU work: 0 is the number of a device.
    std::uint32_t pid_of_work() { return text_of(event_->pid) == "0" ? 0 : pid(); }
    /// A process that the file calls 0 keeps that number if it is the only one: in the store, 0 is
    /// of no known process. GPU work of that number is its own, except in torch's files.
    void settle_zero() {
        ImportedProcess& process = out_.process(zero_);
        if (document_.devices.empty()) process.take(out_.process(0));
        if (out_.has_others(zero_)) {
            made_up_.insert(zero_);
            return;
        }
        out_.process(0).take(process);
        for (const Row& row : rows_)
            if (row.pid == zero_) out_.info(row.track).pid = 0;
    }
    std::uint32_t tid() { return tids_.of(text_of(event_->tid), pids_.of(text_of(event_->pid))); }
    std::string key_of_thread() const {
        return std::string(text_of(event_->pid)) + '\n' + std::string(text_of(event_->tid));
    }
    /// Of a thread, or of what else has that number; null when there are too many.
    Row* row(TrackKind kind = TrackKind::thread) {
        std::string key = kind == TrackKind::overlapping ? std::string(text_of(event_->pid)) + '\n'
                                                         : key_of_thread();
        const auto part = beside_.find(key);
        if (part != beside_.end())
            key = std::string(text_of(event_->pid)) + '\n' + std::to_string(part->second);
        key += kind == TrackKind::thread ? "" : kind == TrackKind::overhead ? "\n-" : "\n~";
        const auto [place, added] = row_of_key_.try_emplace(key, rows_.size());
        if (!added) return &rows_[place->second];
        Row made;
        made.track = out_.add_track();
        if (made.track == kNoTrack) {
            row_of_key_.erase(place);
            return nullptr;
        }
        made.pid = pid();
        made.tid = part != beside_.end() ? part->second : tid();
        made.kind = kind;
        made.key = key;
        if (event_->tid && !event_->tid->is_number)
            made.name = event_->tid->text;
        else if (ImportNumbers::is_made_up(made.tid))
            made.name = "thread " + event_->tid->text;
        rows_.push_back(made);
        return &rows_.back();
    }

    // ---- what events become
    /// CUDA calls and GPU work, as torch writes them and we do. True: it was one of them.
    bool take_cuda(std::int64_t begin, std::int64_t end) {
        const JsonEvent& event = *event_;
        const std::string& category = event.category;
        if (category == "cuda_runtime" || category == "cuda_driver") {
            row();  // the thread is there, even if it has no ranges
            out_.add(pid(), &TraceBatch::api_calls,
                     {begin, end, event.number("correlation"), tid(), out_.name(event.name),
                      event.small("result"), category == "cuda_driver"});
        } else if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
                   category == "graph") {
            take_work(begin, end);
        } else if (category == "cuda_sync") {
            out_.add(pid_of_work(), &TraceBatch::syncs,
                     {begin, end, event.number("correlation"), event.small("context"),
                      event.small("stream"), sync_type(event.name)});
        } else if (category != "gpu_user_annotation") {  // ranges projected on the GPU: they follow
                                                         // from the rest
            return false;
        }
        return true;
    }
    void take_work(std::int64_t begin, std::int64_t end) {
        GpuWorkEvent work = gpu_work_of(*event_);
        work.begin_ns = begin;
        work.end_ns = end;
        work.name = out_.name(event_->name);
        if (!event_->collective.empty()) {
            work.bytes = collective_bytes(*event_);
            work.category = out_.category(collective_text(*event_), "");
        }
        out_.add_work(pid_of_work(), work);
    }
    /// One end of an arrow from a forward operator to its backward pass.
    void take_pass() {
        const bool timed = time_fault(event_->begin, "ts").empty();
        std::uint64_t number = 0;
        const char* const stop = event_->id.data() + event_->id.size();
        const bool numbered = std::from_chars(event_->id.data(), stop, number).ptr == stop;
        Row* const at = timed && numbered && !event_->id.empty() ? row() : nullptr;
        if (at == nullptr)
            return out_.notes.skip_at("arrows without a time or number", event_->byte);
        passes_.add(at->track, nanoseconds(*event_->begin).value_or(0), number,
                    event_->phase == "f");
    }
    /// What torch's caching allocator holds after it gave or took memory.
    void take_memory(std::int64_t time) {
        constexpr double kMiB = 1 << 20;
        for (const auto& [key, value] : event_->numbers) {
            const bool allocated = key == "Total Allocated";
            if (!allocated && (key != "Total Reserved" || value == 0)) continue;  // of a GPU only
            const std::string name = memory_name(*event_, allocated ? "allocated" : "reserved");
            out_.add(pid(), &TraceBatch::counters, {time, value / kMiB, 0, out_.name(name)});
        }
    }
    /// Bytes and group of a host's call of a collective.
    void take_collective(ImportedEvent& span) {
        const std::string text = collective_text(*event_);
        if (text.empty()) return;
        span.category = out_.category(text, "");
        span.payload = collective_bytes(*event_);
        span.has_payload = span.payload != 0;
    }
    /// What asynchronous events of one range, and those around it, have in common.
    std::string key_of_async() const {
        const JsonEvent& event = *event_;
        std::string key = event.phase == "S" || event.phase == "F" ? "S\n" : "b\n";
        key.append(event.category).append(1, '\n').append(event.scope).append(1, '\n');
        if (!event.local_id.empty())
            return key.append("local\n").append(text_of(event.pid)) + '\n' + event.local_id;
        return key.append(!event.global_id.empty() ? event.global_id : event.id);
    }
    void take_overlapping(std::int64_t time) {
        Row* const at = row(TrackKind::overlapping);
        if (at == nullptr) return out_.notes.skip("events on tracks over the limit");
        const bool begins = event_->phase == "b" || event_->phase == "S";
        ImportedEvent span = span_of_event(time);
        span.kind = begins ? ImportedEvent::Kind::begin : ImportedEvent::Kind::end;
        if (!begins && event_->name.empty()) span.name = 0;
        async_.add(key_of_async(), at->pid, at->track, event_->byte, span);
    }
    void take_description() {
        const JsonEvent& event = *event_;
        if (event.name == "thread_name") {
            if (name_of_key_.size() < kMostNames) name_of_key_[key_of_thread()] = event.thread_name;
            return;
        }
        if (event.name == kBesideEvent) beside_[key_of_thread()] = event.small("tid");
        const bool name = event.name == "process_name", labels = event.name == "process_labels",
                   losses = event.name == kLossesEvent;
        if (!event.pid || event.pid->text.empty() || !(name || labels || losses)) return;
        ImportedProcess& process = out_.process(pids_.of(event.pid->text));
        // A device's number is a process's only in our own files.
        process.declared = process.declared || document_.own;
        if (name && process.batch.process_name.empty())
            process.batch.process_name = event.thread_name;
        if (labels) read_label(event.labels, process.batch.labels);
        if (losses)
            for (const auto& [reason, count] : event.numbers)
                if (count >= 0 && count < 1.8e19)
                    take_loss(reason, static_cast<std::uint64_t>(count), process.batch.loss,
                              process.batch.service);
    }
    void take_counters(std::int64_t time) {
        if (event_->numbers.empty())
            out_.notes.skip_at("counter events without a number", event_->byte);
        for (const auto& [series, value] : event_->numbers) {
            const bool alone = event_->numbers.size() == 1;
            out_.add(
                pid(), &TraceBatch::counters,
                {time, value, 0, out_.name(alone ? event_->name : event_->name + " " + series)});
        }
    }

    ImportEvents& out_;
    ChromeDocument& document_;
    const JsonEvent* event_ = nullptr;
    std::uint64_t events_ = 0;
    std::int64_t first_ns_ = 0;
    ChromeAsync async_;
    ImportPasses passes_;
    ImportNumbers pids_, tids_;
    std::set<std::uint32_t> made_up_;  ///< processes with events
    std::uint32_t zero_ = 0;           ///< the process that the file calls 0, if it has events
    std::vector<Row> rows_;
    std::unordered_map<std::string, std::size_t> row_of_key_;
    std::unordered_map<std::string, std::string> name_of_key_;
    std::unordered_map<std::string, std::uint32_t> beside_;  ///< parts of threads, and whose
};

}  // namespace

Result<void> import_chrome(std::string_view bytes, std::string_view text, const std::string& path,
                           ImportEvents& out) {
    ChromeDocument document(bytes, text, out);
    ChromeReader reader(out, document);
    if (!document.read([&](JsonEvent& event) { return reader.take(event); }))
        return fail_at_byte(path, document.fault_byte(), document.fault(),
                            "the file is damaged, cut off or not a trace");
    reader.finish();
    return {};
}

}  // namespace gs
