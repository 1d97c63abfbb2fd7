#include "profiler/files/chrome_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace gs::chrome {
namespace {

constexpr std::size_t kMaxSeries = 32;  ///< numbers in one event
constexpr std::size_t kMostGpus = 256;

Scalar number_of(std::string_view text) {
    Scalar out{std::string(text), 0, true};
    std::string_view digits = text;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    if (digits == "Infinity" || digits == "Inf") digits = "inf";
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
    if (read.ec == std::errc::result_out_of_range && text.find("e-") == text.npos)
        out.number = std::numeric_limits<double>::infinity();
    if (negative) out.number = -out.number;
    return out;
}

std::uint32_t small_number(const Scalar& of) {
    std::uint32_t out = 0;
    std::from_chars(of.text.data(), of.text.data() + of.text.size(), out);
    return out;
}

}  // namespace

bool ChromeDocument::read(const std::function<bool(JsonEvent&)>& take) {
    using Kind = JsonTokens::Kind;
    for (;;) {
        const Kind kind = tokens_.next();
        if (kind == Kind::end) return end_of_file();
        if (kind == Kind::fault && tokens_.depth() == 0 && found_) return end_of_file();
        switch (kind) {
            case Kind::object:
                start_object();
                break;
            case Kind::array:
                start_list();
                break;
            case Kind::array_end:
                if (in_list() && tokens_.depth() < list_) list_ = kNone;
                break;
            case Kind::key:
                key(tokens_.text());
                break;
            case Kind::text:
                scalar({tokens_.text(), 0, false});
                break;
            case Kind::number:
                scalar(number_of(tokens_.raw()));
                break;
            case Kind::object_end:
                if (!end_object(take)) return false;
                break;
            case Kind::fault:
                if (!recover()) return false;
                break;
            default:
                break;
        }
    }
}

bool ChromeDocument::fail(std::string what, std::uint64_t byte) {
    fault_ = std::move(what);
    fault_byte_ = byte;
    return false;
}

/// A damaged event costs that event. False: nothing can be read.
bool ChromeDocument::recover() {
    const std::string what = tokens_.fault();
    const std::uint64_t byte = offset_ + tokens_.byte();
    if (!found_) return fail(what, byte);
    const std::uint64_t begin = in_event() ? event_.byte : byte;
    const bool at_end = !in_list();
    if (!at_end && tokens_.resume(list_)) {
        out_.notes.skip_at("damaged events (" + what + ")", begin);
        return true;
    }
    if (!taken_) return fail(what, byte);
    out_.notes.cut(
        fmt::format("cannot read the file from byte {} on ({}): it is damaged or cut off; events "
                    "before that are shown",
                    begin, what));
    if (at_end) tokens_.stop();
    return true;
}

bool ChromeDocument::end_of_file() {
    const std::uint64_t byte = offset_ + tokens_.byte();
    if (!found_)
        return fail(
            tokens_.depth() == 0 ? "it has no traceEvents" : "the file ends before its events",
            tokens_.depth() == 0 ? 0 : byte);
    if (out_.notes.is_cut()) return true;
    if (tokens_.depth() == 0) {
        if (const std::size_t rest = size_ - tokens_.byte(); rest > 0)
            out_.notes.cut(fmt::format("{} bytes after the end of the trace are ignored", rest));
        return true;
    }
    if (!taken_) return fail("the file ends inside its first event", byte);
    if (in_event())
        out_.notes.cut(fmt::format(
            "the file is cut off inside the event at byte {}; events before that are shown",
            event_.byte));
    else if (list_ == 1)  // the format allows it, for programs that are killed
        out_.notes.note(
            "the list of events is not closed: the program that wrote it may have been killed");
    else
        out_.notes.cut("the file is cut off; events before that are shown");
    return true;
}

void ChromeDocument::start_list() {
    const std::size_t depth = tokens_.depth();
    if (!found_ && (depth == 1 || (depth == 2 && top_key_ == "traceEvents"))) {
        list_ = depth;
        found_ = true;
    }
    element_ = 0;
}

void ChromeDocument::start_object() {
    const std::size_t depth = tokens_.depth();
    if (in_list() && depth == list_ + 1) {
        event_ = {};
        event_.byte = offset_ + tokens_.byte();
    }
    if (!in_list() && depth == 3 && top_key_ == "deviceProperties") device_ = {};
}

bool ChromeDocument::end_object(const std::function<bool(JsonEvent&)>& take) {
    const std::size_t depth = tokens_.depth() + 1;
    if (!in_list() && depth == 3 && top_key_ == "deviceProperties" && devices.size() < kMostGpus)
        devices.push_back(device_);
    if (!in_list() || depth != list_ + 1) return true;
    taken_ = true;
    if (take(event_)) return true;
    return fail("stopped", event_.byte);
}

void ChromeDocument::key(std::string text) {
    const std::size_t depth = tokens_.depth();
    if (in_event() && depth == list_ + 1)
        event_key_ = std::move(text);
    else if (in_event() && depth == list_ + 2)
        inner_key_ = std::move(text);
    else if (!in_list() && depth == 1)
        top_key_ = std::move(text);
    else if (!in_list() && (depth == 2 || depth == 3))
        header_key_ = std::move(text);
}

void ChromeDocument::scalar(Scalar value) {
    const std::size_t depth = tokens_.depth();
    if (!in_list()) return header(value);
    if (depth == list_)
        return out_.notes.skip_at("events that are not objects", offset_ + tokens_.byte());
    if (depth == list_ + 1) return event_field(std::move(value));
    if (depth == list_ + 2 && event_key_ == "args") return argument(value);
    if (depth == list_ + 2 && event_key_ == "id2") {
        if (inner_key_ == "local") event_.local_id = std::move(value.text);
        if (inner_key_ == "global") event_.global_id = std::move(value.text);
    } else if (depth == list_ + 3 && event_key_ == "args") {
        if (element_ < 3 && inner_key_ == "grid") event_.grid[element_] = small_number(value);
        if (element_ < 3 && inner_key_ == "block") event_.block[element_] = small_number(value);
        ++element_;
    }
}

void ChromeDocument::event_field(Scalar value) {
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
    else if (event_key_ == "scope")
        event_.scope = std::move(value.text);
}

void ChromeDocument::argument(const Scalar& value) {
    if (inner_key_ == "name") event_.thread_name = value.text;
    if (inner_key_ == "labels") event_.labels = value.text;
    if (inner_key_ == "nvtx category") event_.nvtx_category = value.text;
    if (inner_key_ == "Collective name") event_.collective = value.text;
    if (inner_key_ == "dtype") event_.element = value.text;
    if (inner_key_ == "Process Group Name") event_.group = value.text;
    if (inner_key_ == "source") event_.source = value.text;
    if (inner_key_ == "target") event_.target = value.text;
    if (!value.is_number) return;
    payload(value);
    if (std::isfinite(value.number) && event_.numbers.size() < kMaxSeries)
        event_.numbers.emplace_back(inner_key_, value.number);
}

void ChromeDocument::payload(const Scalar& value) {
    const bool always = inner_key_ == "value" || inner_key_ == "payload";
    if (!always && inner_key_ != "step" && inner_key_ != "frame") return;
    const char *const begin = value.text.data(), *const stop = begin + value.text.size();
    std::uint64_t whole = 0;
    std::int64_t negative = 0;
    if (const auto read = std::from_chars(begin, stop, whole);
        read.ec == std::errc() && read.ptr == stop) {
        event_.payload = whole;
    } else if (!always) {
        return;
    } else if (const auto signed_read = std::from_chars(begin, stop, negative);
               signed_read.ec == std::errc() && signed_read.ptr == stop) {
        event_.payload = std::bit_cast<std::uint64_t>(negative);
        event_.payload_kind = PayloadKind::signed_whole;
    } else {
        event_.payload = std::bit_cast<std::uint64_t>(value.number);
        event_.payload_kind = PayloadKind::real;
    }
    event_.has_payload = true;
}

/// What stands beside the events: the time they count from, the GPUs, the rank, who wrote it.
void ChromeDocument::header(const Scalar& value) {
    const std::size_t depth = tokens_.depth();
    if (depth == 1 && top_key_ == "baseTimeNanoseconds" && value.number > 0 &&
        value.number < static_cast<double>(kMaxImportTime)) {
        base_ns = 0;
        std::from_chars(value.text.data(), value.text.data() + value.text.size(), base_ns);
    }
    if (depth == 2 && top_key_ == "distributedInfo" && value.is_number && value.number >= 0 &&
        value.number < 1e6) {
        if (header_key_ == "rank") labels.rank = static_cast<int>(value.number);
        if (header_key_ == "world_size") labels.world_size = static_cast<int>(value.number);
    }
    if (depth == 2 && top_key_ == "otherData" && header_key_ == "exporter")
        own = value.text == "gausscope";
    if (depth == 3 && top_key_ == "deviceProperties")
        take_device_property(header_key_, value, device_);
}

}  // namespace gs::chrome
