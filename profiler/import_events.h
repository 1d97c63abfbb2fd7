// ImportEvents: what the file readers find, collected until the whole file has been read: then begins and ends are
// paired, spans nested, arrows resolved, and everything goes into the store in order of time, as a live reader would
// have brought it. Used by import_perfetto and import_chrome.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/import.h"

namespace gs {

/// Times beyond this (73 years) are no times; half of what would overflow when two are added.
inline constexpr std::int64_t kMaxImportTime = std::int64_t{1} << 61;

/// One begin, end or whole span as it lay in the file.
struct ImportedEvent {
    enum class Kind : std::uint8_t { begin, end, whole };
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t payload = 0;
    std::uint64_t flow = 0;  ///< joins GPU work with the span that launched it, 0: none
    std::uint32_t name = 0;
    Kind kind = Kind::whole;
    std::uint8_t depth = 0;
    bool has_payload = false;
};

class ImportEvents {
  public:
    explicit ImportEvents(const ImportOptions& options) : options_(options) {}

    /// A new track, described by what info() says by the time of finish().
    std::uint32_t add_track();
    TrackInfo& info(std::uint32_t track) { return tracks_[track].info; }
    std::size_t track_count() const { return tracks_.size(); }
    std::uint32_t name(std::string_view text);

    void add(std::uint32_t track, const ImportedEvent& event);
    void add_instant(const InstantEvent& event);
    void add_point(const CounterEvent& event);
    /// Counts something that is left out; `what` in the plural.
    void skip(const std::string& what, std::uint64_t count = 1) { skipped_[what] += count; }
    void note(std::string text) { notes_.push_back(std::move(text)); }

    std::uint64_t lost = 0;  ///< records the file itself says are missing
    std::int64_t read_ns = 0, realtime_offset_ns = 0;
    std::string process_name;

    ImportSummary finish(TraceStore& store);

  private:
    struct Track {
        TrackInfo info;
        std::vector<ImportedEvent> events;
    };
    struct Finished {
        ImportedEvent event;
        std::uint32_t track = 0;
    };
    struct Launch {
        std::int64_t begin_ns = 0;
        std::uint32_t track = 0;
        std::uint8_t depth = 0;
    };
    bool full();
    void pair(Track& track, std::vector<OpenSpan>& open);
    void nest(std::vector<ImportedEvent>& spans);
    void deliver(TraceStore& store, const std::vector<Finished>& spans, TraceBatch& last);

    ImportOptions options_;
    std::vector<Track> tracks_;
    std::vector<NameInfo> names_;
    std::unordered_map<std::string, std::uint32_t> id_of_name_;
    std::vector<InstantEvent> instants_;
    std::vector<CounterEvent> points_;
    std::map<std::string, std::uint64_t> skipped_;
    std::vector<std::string> notes_;
    std::size_t events_ = 0;
};

}  // namespace gs
