// Read as a stream of tokens: what is kept in memory is one event, and what ImportEvents collects.
#include "profiler/files/import_chrome.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "profiler/files/chrome_event.h"
#include "profiler/files/import_passes.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

using namespace chrome;
constexpr std::size_t kMaxNesting = 128;
constexpr std::size_t kMaxSeries = 32;  ///< numbers in one counter event

/// Walks over the bytes and lets the handler know how far the parser has come.
struct Cursor {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* at = nullptr;
    const char** reached = nullptr;
    reference operator*() const { return *at; }
    Cursor& operator++() {
        ++at;
        if (reached != nullptr) *reached = at;
        return *this;
    }
    bool operator==(const Cursor& other) const { return at == other.at; }
    bool operator!=(const Cursor& other) const { return at != other.at; }
};

class Handler final : public nlohmann::json_sax<nlohmann::json> {
  public:
    Handler(ImportEvents& out, std::string_view bytes, const char* const& reached)
        : out_(out),
          begin_(bytes.data()),
          reached_(reached),
          size_(static_cast<double>(bytes.size())) {}

    std::uint64_t fault_byte = 0;
    std::string fault;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t v) override {
        return scalar({std::to_string(v), static_cast<double>(v), true});
    }
    bool number_unsigned(number_unsigned_t v) override {
        return scalar({std::to_string(v), static_cast<double>(v), true});
    }
    bool number_float(number_float_t v, const string_t& text) override {
        return scalar({text, v, true});
    }
    bool string(string_t& text) override { return scalar({std::move(text), 0, false}); }
    bool binary(binary_t&) override { return true; }
    bool key(string_t& text) override {
        if (depth_ == 1)
            top_key_ = std::move(text);
        else if (depth_ == event_depth_)
            event_key_ = std::move(text);
        else if (depth_ == event_depth_ + 1)
            arg_key_ = std::move(text);
        else if (depth_ == 2 || depth_ == 3)
            header_key_ = std::move(text);
        return true;
    }
    bool start_array(std::size_t) override {
        if (!deeper()) return false;
        if (depth_ == 1 || (depth_ == 2 && event_depth_ == kNone && top_key_ == "traceEvents")) {
            event_depth_ = depth_ + 1;
            found_ = true;
        }
        element_ = 0;
        return true;
    }
    bool end_array() override {
        if (depth_ + 1 == event_depth_) event_depth_ = kNone;
        --depth_;
        return true;
    }
    bool start_object(std::size_t) override {
        if (!deeper()) return false;
        if (depth_ == event_depth_) event_ = {};
        if (event_depth_ == kNone && depth_ == 3 && top_key_ == "deviceProperties") device_ = {};
        return true;
    }
    bool end_object() override {
        if (event_depth_ == kNone && depth_ == 3 && top_key_ == "deviceProperties" &&
            devices_.size() < kMostDevices)
            devices_.push_back(device_);
        return depth_-- != event_depth_ || take();
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception&) override {
        fault = "this is not JSON";
        fault_byte = position > 0 ? position - 1 : 0;
        return false;
    }

    bool finish() {
        if (!found_) return fail("there is no traceEvents in it");
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
        out_.rounded_times = true;
        // Without a base the times themselves are those of the wall clock, if they are of this
        // century.
        constexpr std::int64_t kCentury = 946'684'800'000'000'000;
        if (base_ns_ != 0)
            out_.realtime_offset_ns = base_ns_;
        else if (first_ns_ > kCentury)
            out_.realtime_offset_ns = 0;
        ImportEvents::Process& main = out_.process(0);  // goes to the one with most spans
        main.devices = std::move(devices_);
        main.labels = labels_;
        return true;
    }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0} - 1;
    struct Row {
        std::string key, name;
        std::uint32_t track = kNoTrack, pid = 0, tid = 0;
        bool gpu = false;
        TrackKind kind = TrackKind::thread;
    };
    static constexpr std::size_t kMostDevices = 256, kMostNames = 1'000'000;

    bool fail(const char* what) {
        fault = what;
        fault_byte = static_cast<std::uint64_t>(reached_ - begin_);
        return false;
    }
    bool deeper() { return ++depth_ <= kMaxNesting || fail("this is nested too deep"); }

    bool scalar(Scalar value) {
        if (depth_ == event_depth_) {
            if (event_key_ == "ts")
                event_.begin = std::move(value);
            else if (event_key_ == "dur")
                event_.length = std::move(value);
            else if (event_key_ == "pid")
                event_.pid = std::move(value);
            else if (event_key_ == "tid")
                event_.tid = std::move(value);
            else if (event_key_ == "name")
                event_.name = std::move(value.text);
            else if (event_key_ == "ph")
                event_.phase = std::move(value.text);
            else if (event_key_ == "cat")
                event_.category = std::move(value.text);
            else if (event_key_ == "id")
                event_.id = std::move(value.text);
        } else if (depth_ == event_depth_ + 1 && event_key_ == "args") {
            argument(value);
        } else if (depth_ == event_depth_ + 2 && event_key_ == "args") {
            if (element_ < 3 && arg_key_ == "grid") event_.grid[element_] = small_number(value);
            if (element_ < 3 && arg_key_ == "block") event_.block[element_] = small_number(value);
            ++element_;
        } else if (event_depth_ == kNone) {
            header(value);
        }
        return true;
    }
    void argument(const Scalar& value) {
        std::uint64_t whole = 0;
        const char* stop = value.text.data() + value.text.size();
        const auto read = std::from_chars(value.text.data(), stop, whole);
        const bool is_whole = value.is_number && read.ec == std::errc() && read.ptr == stop;
        if (arg_key_ == "name") event_.thread_name = value.text;
        if (arg_key_ == "labels") event_.labels = value.text;
        if (is_whole && (arg_key_ == "step" || arg_key_ == "frame" || arg_key_ == "value" ||
                         arg_key_ == "payload")) {
            event_.payload = whole;
            event_.has_payload = true;
        } else if (value.is_number && (arg_key_ == "value" || arg_key_ == "payload")) {
            std::int64_t negative = 0;
            const auto signed_read = std::from_chars(value.text.data(), stop, negative);
            const bool is_signed = signed_read.ec == std::errc() && signed_read.ptr == stop;
            event_.payload = is_signed ? std::bit_cast<std::uint64_t>(negative)
                                       : std::bit_cast<std::uint64_t>(value.number);
            event_.payload_kind = is_signed ? PayloadKind::signed_whole : PayloadKind::real;
            event_.has_payload = true;
        }
        if (arg_key_ == "Collective name") event_.collective = value.text;
        if (arg_key_ == "dtype") event_.element = value.text;
        if (arg_key_ == "Process Group Name") event_.group = value.text;
        if (arg_key_ == "source") event_.source = value.text;
        if (arg_key_ == "target") event_.target = value.text;
        if (value.is_number && std::isfinite(value.number) && event_.numbers.size() < kMaxSeries)
            event_.numbers.emplace_back(arg_key_, value.number);
    }

    /// What stands beside the events: the time they count from, the GPUs, the rank.
    void header(const Scalar& value) {
        if (depth_ == 1 && top_key_ == "baseTimeNanoseconds" && value.number > 0 &&
            value.number < static_cast<double>(kMaxImportTime)) {
            std::int64_t whole = 0;
            std::from_chars(value.text.data(), value.text.data() + value.text.size(), whole);
            base_ns_ = whole;
        }
        if (depth_ == 2 && top_key_ == "distributedInfo" && value.is_number && value.number >= 0 &&
            value.number < 1e6) {
            if (header_key_ == "rank") labels_.rank = static_cast<int>(value.number);
            if (header_key_ == "world_size") labels_.world_size = static_cast<int>(value.number);
        }
        if (depth_ == 3 && top_key_ == "deviceProperties")
            take_device_property(header_key_, value, device_);
    }
    static std::uint32_t small_number(const Scalar& of) {
        std::uint32_t out = 0;
        std::from_chars(of.text.data(), of.text.data() + of.text.size(), out);
        return out;
    }
    static std::uint32_t small_number(const std::optional<Scalar>& of) {
        return of ? small_number(*of) : 0;
    }
    std::string key_of_event() const {
        return (event_.pid ? event_.pid->text : "") + '\n' + (event_.tid ? event_.tid->text : "");
    }
    /// Of a thread, or of what else has that number; null when there are too many.
    Row* row(TrackKind kind = TrackKind::thread) {
        const std::string key =
            (event_.pid ? event_.pid->text : "") + '\n' +
            (event_.tid && kind != TrackKind::overlapping ? event_.tid->text : "") +
            (kind == TrackKind::thread     ? ""
             : kind == TrackKind::overhead ? "\n-"
                                           : "\n~");
        const auto [place, added] = row_of_key_.try_emplace(key, rows_.size());
        if (!added) return &rows_[place->second];
        Row made;
        made.track = out_.add_track();
        if (made.track == kNoTrack) {
            row_of_key_.erase(place);
            return nullptr;
        }
        made.pid = small_number(event_.pid);
        made.tid = small_number(event_.tid);
        made.kind = kind;
        made.key = key;
        if (event_.tid && !event_.tid->is_number) made.name = event_.tid->text;
        rows_.push_back(made);
        return &rows_.back();
    }

    bool take() {
        const std::string& phase = event_.phase;
        if (phase == "M") return take_description();
        if (event_.category == "fwdbwd" && (phase == "s" || phase == "f")) return take_pass();
        if (phase.size() != 1 ||
            std::string_view("XBEiIRCbe").find(phase[0]) == std::string_view::npos) {
            out_.skip(phase == "s" || phase == "t" || phase == "f"
                          ? "arrows (launches are known by their correlation)"
                      : phase == "n" ? "asynchronous instants"
                                     : "events of other kinds");
            return true;
        }
        if (!event_.begin) return out_.skip("events without a time"), true;
        const auto begin = nanoseconds(*event_.begin);
        const auto length =
            event_.length ? nanoseconds(*event_.length) : std::optional<std::int64_t>(0);
        if (!begin || !length || *length < 0) return fail("a time is beyond what times can be");
        constexpr std::uint64_t kBetweenReports = 65536;
        if (first_ns_ == 0) first_ns_ = *begin;
        if (++events_ % kBetweenReports == 0 &&
            !out_.go_on(static_cast<double>(reached_ - begin_) / size_))
            return fail("stopped");
        if (phase == "C") return take_counters(*begin);
        if (phase == "b" || phase == "e") return take_overlapping(*begin);
        if (phase == "X" && take_cuda(*begin, *begin + *length)) return true;
        Row* const at =
            row(event_.category == "overhead" ? TrackKind::overhead : TrackKind::thread);
        if (at == nullptr) return out_.skip("events on tracks beyond what is kept"), true;
        if (phase == "i" && event_.name == "[memory]") return take_memory(*begin);
        if (phase == "i" || phase == "I" || phase == "R") {
            out_.add_instant(
                {*begin, event_.payload, at->track, out_.name(event_.name), event_.payload_kind});
            return true;
        }
        const std::string& category = event_.category;
        at->gpu = at->gpu || category == "gpu_stage";
        ImportedEvent span;
        using Kind = ImportedEvent::Kind;
        span.kind = phase == "X" ? Kind::whole : phase == "B" ? Kind::begin : Kind::end;
        span.begin_ns = *begin;
        span.end_ns = *begin + *length;
        span.name = phase == "E" ? 0 : name_of_event();
        span.payload = event_.payload;
        span.has_payload = event_.has_payload;
        span.payload_kind = event_.payload_kind;
        span.flow = event_.number("correlation");
        take_collective(span);
        out_.add(at->track, span);
        return true;
    }
    std::uint32_t name_of_event() {
        std::string_view domain = event_.category;
        if (!domain.starts_with("nvtx:")) return out_.name(event_.name);
        domain.remove_prefix(5);
        return out_.name(event_.name, domain);
    }
    /// CUDA calls and GPU work, as torch writes them and we do. True: it was one of them.
    bool take_cuda(std::int64_t begin, std::int64_t end) {
        const std::string& category = event_.category;
        const std::uint32_t pid = small_number(event_.pid);
        if (category == "cuda_runtime" || category == "cuda_driver") {
            row();  // the thread is there, even if it has no ranges
            out_.add_call(
                pid, {begin, end, event_.number("correlation"), small_number(event_.tid),
                      out_.name(event_.name), event_.small("result"), category == "cuda_driver"});
        } else if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
                   category == "graph") {
            take_work(pid, begin, end);
        } else if (category == "cuda_sync") {
            std::vector<SyncEvent>& syncs = out_.process(pid).syncs;
            constexpr std::size_t kMost = 8'000'000;
            if (syncs.size() < kMost)
                syncs.push_back({begin, end, event_.number("correlation"), event_.small("context"),
                                 event_.small("stream"), sync_type(event_.name)});
        } else if (category != "gpu_user_annotation") {  // ranges projected on the GPU: they follow
                                                         // from the rest
            return false;
        }
        return true;
    }
    void take_work(std::uint32_t pid, std::int64_t begin, std::int64_t end) {
        GpuWorkEvent work = gpu_work_of(event_);
        work.begin_ns = begin;
        work.end_ns = end;
        work.name = out_.name(event_.name);
        if (!event_.collective.empty()) {
            work.bytes = collective_bytes(event_);
            work.category = out_.category(collective_text(event_), "");
        }
        out_.add_work(pid, work);
    }
    /// One end of an arrow from a forward operator to its backward pass.
    bool take_pass() {
        const auto time = event_.begin ? nanoseconds(*event_.begin) : std::nullopt;
        std::uint64_t number = 0;
        const char* const stop = event_.id.data() + event_.id.size();
        const bool numbered = std::from_chars(event_.id.data(), stop, number).ptr == stop;
        Row* const at = time && numbered && !event_.id.empty() ? row() : nullptr;
        if (at == nullptr) return out_.skip("arrows without a time or number"), true;
        passes_.add(at->track, *time, number, event_.phase == "f");
        return true;
    }
    /// What torch's caching allocator holds after it gave or took memory.
    bool take_memory(std::int64_t time) {
        constexpr double kMiB = 1 << 20;
        const std::uint32_t pid = small_number(event_.pid);
        for (const auto& [key, value] : event_.numbers) {
            const bool allocated = key == "Total Allocated";
            if (!allocated && (key != "Total Reserved" || value == 0)) continue;  // of a GPU only
            const std::string name = memory_name(event_, allocated ? "allocated" : "reserved");
            out_.add_point(pid, {time, value / kMiB, 0, out_.name(name)});
        }
        return true;
    }
    /// Bytes and group of a host's call of a collective.
    void take_collective(ImportedEvent& span) {
        const std::string text = collective_text(event_);
        if (text.empty()) return;
        span.category = out_.category(text, "");
        span.payload = collective_bytes(event_);
        span.has_payload = span.payload != 0;
    }
    bool take_overlapping(std::int64_t time) {
        const std::string key = (event_.pid ? event_.pid->text : "") + '\n' + event_.category +
                                '\n' + event_.id + '\n' + event_.name;
        if (event_.phase == "b") {
            constexpr std::size_t kMostOpen = 1'000'000;
            if (open_.size() >= kMostOpen) return out_.skip("asynchronous events"), true;
            ImportedEvent span;
            span.begin_ns = time;
            span.name = name_of_event();
            span.payload = event_.payload;
            span.has_payload = event_.has_payload;
            span.payload_kind = event_.payload_kind;
            open_.insert_or_assign(key, span);
            return true;
        }
        const auto found = open_.find(key);
        Row* const at = row(TrackKind::overlapping);
        if (found == open_.end() || at == nullptr || time < found->second.begin_ns)
            return out_.skip("ends without a begin"), true;
        found->second.end_ns = time;
        out_.add(at->track, found->second);
        open_.erase(found);
        return true;
    }
    bool take_description() {
        const std::uint32_t pid = small_number(event_.pid);
        const bool numbered = event_.pid && event_.pid->is_number;
        if (event_.name == "process_name" && numbered && out_.process(pid).name.empty())
            out_.process(pid).name = event_.thread_name;
        if (event_.name == "process_labels" && numbered)
            read_label(event_.labels, out_.process(pid).labels);
        if (event_.name == "thread_name" && name_of_key_.size() < kMostNames)
            name_of_key_[key_of_event()] = event_.thread_name;
        return true;
    }
    bool take_counters(std::int64_t time) {
        if (event_.numbers.empty()) out_.skip("counter events without a number");
        for (const auto& [series, value] : event_.numbers) {
            const bool alone = event_.numbers.size() == 1;
            out_.add_point(
                small_number(event_.pid),
                {time, value, 0, out_.name(alone ? event_.name : event_.name + " " + series)});
        }
        return true;
    }

    ImportEvents& out_;
    const char* begin_;
    const char* const& reached_;
    std::size_t depth_ = 0, event_depth_ = kNone;
    bool found_ = false;
    std::string top_key_, event_key_, arg_key_, header_key_;
    std::size_t element_ = 0;  ///< of the array in args
    double size_ = 1;
    std::uint64_t events_ = 0;
    std::int64_t base_ns_ = 0, first_ns_ = 0;
    GpuDeviceEvent device_;
    std::vector<GpuDeviceEvent> devices_;
    ProcessLabels labels_;
    std::unordered_map<std::string, ImportedEvent> open_;  ///< asynchronous ones
    JsonEvent event_;
    ImportPasses passes_;
    std::vector<Row> rows_;
    std::unordered_map<std::string, std::size_t> row_of_key_;
    std::unordered_map<std::string, std::string> name_of_key_;
};

}  // namespace

Result<void> import_chrome(std::string_view bytes, const std::string& path, ImportEvents& out) {
    const char* reached = bytes.data();
    Handler handler(out, bytes, reached);
    const Cursor begin{bytes.data(), &reached}, end{bytes.data() + bytes.size(), nullptr};
    if (!nlohmann::json::sax_parse(begin, end, &handler) || !handler.finish())
        return fail_at_byte(path, handler.fault_byte, handler.fault,
                            "the file is damaged, cut off or no trace");
    return {};
}

}  // namespace gs
