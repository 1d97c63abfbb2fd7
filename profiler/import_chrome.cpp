// Read as a stream of tokens: what is kept in memory is one event, and what ImportEvents collects.
#include "profiler/import_chrome.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace gs {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMaxNesting = 128;
constexpr std::size_t kMaxSeries = 16;  ///< numbers in one counter event

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

/// A number or text of an event. Microseconds are kept as they are written: a double would round away nanoseconds.
struct Scalar {
    std::string text;
    double number = 0;
    bool is_number = false;
};

struct JsonEvent {
    std::string name, phase, category, thread_name;
    std::optional<Scalar> begin, length, pid, tid;
    std::vector<std::pair<std::string, double>> numbers;  ///< of args
    std::uint64_t correlation = 0, payload = 0;
    bool has_payload = false;
};

/// "12.3456" microseconds -> 12345 ns. None when that is no time.
std::optional<std::int64_t> nanoseconds(const Scalar& us) {
    const char *at = us.text.data(), *const stop = at + us.text.size();
    std::int64_t whole = 0;
    const bool negative = at != stop && *at == '-';
    const auto [rest, error] = std::from_chars(at, stop, whole);
    std::int64_t part = 0;
    const char* digit = rest;
    if (digit != stop && *digit == '.') {
        std::int64_t place = 100;
        for (++digit; digit != stop && *digit >= '0' && *digit <= '9'; ++digit, place /= 10)
            part += place * (*digit - '0');
    }
    if (error != std::errc() || digit != stop) {  // with an exponent, or no number
        double value = us.number;
        if (!us.is_number && std::from_chars(at, stop, value).ec != std::errc()) return std::nullopt;
        value *= 1000;
        if (!(std::abs(value) < static_cast<double>(kMaxImportTime))) return std::nullopt;
        return static_cast<std::int64_t>(std::llround(value));
    }
    if (std::abs(static_cast<double>(whole)) * 1000 >= static_cast<double>(kMaxImportTime)) return std::nullopt;
    return whole * 1000 + (negative ? -part : part);
}

class Handler final : public nlohmann::json_sax<Json> {
  public:
    Handler(ImportEvents& out, const char* begin, const char* const& reached)
        : out_(out), begin_(begin), reached_(reached) {}

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
    bool number_float(number_float_t v, const string_t& text) override { return scalar({text, v, true}); }
    bool string(string_t& text) override { return scalar({std::move(text), 0, false}); }
    bool binary(binary_t&) override { return true; }
    bool key(string_t& text) override {
        if (depth_ == 1)
            top_key_ = std::move(text);
        else if (depth_ == event_depth_)
            event_key_ = std::move(text);
        else if (depth_ == event_depth_ + 1)
            arg_key_ = std::move(text);
        return true;
    }
    bool start_array(std::size_t) override {
        if (!deeper()) return false;
        if (depth_ == 1 || (depth_ == 2 && event_depth_ == kNone && top_key_ == "traceEvents")) {
            event_depth_ = depth_ + 1;
            found_ = true;
        }
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
        return true;
    }
    bool end_object() override { return depth_-- != event_depth_ || take(); }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        fault = "this is not JSON";
        fault_byte = position > 0 ? position - 1 : 0;
        return false;
    }

    bool finish() {
        if (!found_) return fail("there is no traceEvents in it");
        for (Row& row : rows_) {
            TrackInfo& info = out_.info(row.track);
            info.pid = row.pid;
            info.tid = row.tid;
            info.name = row.name;
            if (row.gpu || row.name.starts_with("stream ") || row.name.starts_with("CUDA stream"))
                info.kind = TrackKind::gpu_stream;
        }
        return true;
    }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0} - 1;
    struct Row {
        std::string name;
        std::uint32_t track = kNoTrack, pid = 0, tid = 0;
        bool gpu = false;
    };

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
        } else if (depth_ == event_depth_ + 1 && event_key_ == "args") {
            argument(value);
        }
        return true;
    }
    void argument(const Scalar& value) {
        std::uint64_t whole = 0;
        const char* stop = value.text.data() + value.text.size();
        const auto read = std::from_chars(value.text.data(), stop, whole);
        const bool is_whole = value.is_number && read.ec == std::errc() && read.ptr == stop;
        if (arg_key_ == "name") event_.thread_name = value.text;
        if (arg_key_ == "correlation" && is_whole) event_.correlation = whole;
        if (is_whole && (arg_key_ == "step" || arg_key_ == "frame" || arg_key_ == "value" || arg_key_ == "payload")) {
            event_.payload = whole;
            event_.has_payload = true;
        }
        if (value.is_number && std::isfinite(value.number) && event_.numbers.size() < kMaxSeries)
            event_.numbers.emplace_back(arg_key_, value.number);
    }

    static std::uint32_t small_number(const std::optional<Scalar>& of) {
        std::uint32_t out = 0;
        if (of) std::from_chars(of->text.data(), of->text.data() + of->text.size(), out);
        return out;
    }
    /// Null when there are too many.
    Row* row() {
        const std::string key = (event_.pid ? event_.pid->text : "") + '\n' + (event_.tid ? event_.tid->text : "");
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
        if (event_.tid && !event_.tid->is_number) made.name = event_.tid->text;
        rows_.push_back(made);
        return &rows_.back();
    }

    bool take() {
        const std::string& phase = event_.phase;
        if (phase == "M") return take_description();
        if (phase.size() != 1 || std::string_view("XBEiIRC").find(phase[0]) == std::string_view::npos) {
            out_.skip(phase == "s" || phase == "t" || phase == "f" ? "arrows (launches are known by their correlation)"
                      : phase == "b" || phase == "n" || phase == "e" ? "asynchronous events"
                                                                     : "events of other kinds");
            return true;
        }
        if (!event_.begin) return out_.skip("events without a time"), true;
        const auto begin = nanoseconds(*event_.begin);
        const auto length = event_.length ? nanoseconds(*event_.length) : std::optional<std::int64_t>(0);
        if (!begin || !length || *length < 0) return fail("a time is beyond what times can be");
        if (phase == "C") return take_counters(*begin);
        Row* const at = row();
        if (at == nullptr) return out_.skip("events on tracks beyond what is kept"), true;
        if (phase == "i" || phase == "I" || phase == "R") {
            out_.add_instant({*begin, event_.payload, at->track, out_.name(event_.name)});
            return true;
        }
        const std::string& category = event_.category;
        at->gpu = at->gpu || category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
                  category == "gpu_user_annotation" || category == "gpu_stage";
        ImportedEvent span;
        using Kind = ImportedEvent::Kind;
        span.kind = phase == "X" ? Kind::whole : phase == "B" ? Kind::begin : Kind::end;
        span.begin_ns = *begin;
        span.end_ns = *begin + *length;
        span.name = phase == "E" ? 0 : out_.name(event_.name);
        span.payload = event_.payload;
        span.has_payload = event_.has_payload;
        span.flow = event_.correlation;
        out_.add(at->track, span);
        return true;
    }
    bool take_description() {
        if (event_.name == "process_name" && out_.process_name.empty()) out_.process_name = event_.thread_name;
        if (event_.name == "thread_name")
            if (Row* const at = row()) at->name = event_.thread_name;
        return true;
    }
    bool take_counters(std::int64_t time) {
        if (event_.numbers.empty()) out_.skip("counter events without a number");
        for (const auto& [series, value] : event_.numbers) {
            const bool alone = event_.numbers.size() == 1;
            out_.add_point({time, value, 0, out_.name(alone ? event_.name : event_.name + " " + series)});
        }
        return true;
    }

    ImportEvents& out_;
    const char* begin_;
    const char* const& reached_;
    std::size_t depth_ = 0, event_depth_ = kNone;
    bool found_ = false;
    std::string top_key_, event_key_, arg_key_;
    JsonEvent event_;
    std::vector<Row> rows_;
    std::unordered_map<std::string, std::size_t> row_of_key_;
};

}  // namespace

Result<void> import_chrome(std::string_view bytes, const std::string& path, ImportEvents& out) {
    const char* reached = bytes.data();
    Handler handler(out, bytes.data(), reached);
    const Cursor begin{bytes.data(), &reached}, end{bytes.data() + bytes.size(), nullptr};
    if (!Json::sax_parse(begin, end, &handler) || !handler.finish())
        return fail_at_byte(path, handler.fault_byte, handler.fault, "the file is damaged, cut off or no trace");
    return {};
}

}  // namespace gs
