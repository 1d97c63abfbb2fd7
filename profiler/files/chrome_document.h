// ChromeDocument: walks through a Chrome JSON trace, event by event, and keeps what stands beside
// the events. A damaged event is skipped; where the file ends early, what is whole comes out. Used
// by import_chrome.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/files/chrome_event.h"
#include "profiler/files/import_events.h"
#include "profiler/files/json_tokens.h"

namespace gs::chrome {

class ChromeDocument {
  public:
    /// `text`: the part of the file's `bytes` behind marks at its head.
    ChromeDocument(std::string_view bytes, std::string_view text, ImportEvents& out)
        : out_(out),
          tokens_(text),
          size_(text.size()),
          offset_(static_cast<std::uint64_t>(text.data() - bytes.data())) {}

    /// Hands over every event; false when `take` says so, or when there is nothing to take: then
    /// fault() says why.
    bool read(const std::function<bool(JsonEvent&)>& take);
    const std::string& fault() const { return fault_; }
    std::uint64_t fault_byte() const { return fault_byte_; }
    /// How much of the file has been read.
    double share() const {
        return static_cast<double>(tokens_.reached()) / static_cast<double>(size_);
    }

    // ---- what stands beside the events
    std::int64_t base_ns = 0;  ///< what times count from, of the wall clock; 0: unknown
    std::vector<GpuDeviceEvent> devices;
    ProcessLabels labels;
    bool own = false;  ///< gausscope wrote it

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    bool fail(std::string what, std::uint64_t byte);
    bool recover();
    bool end_of_file();
    void start_list();
    void start_object();
    bool end_object(const std::function<bool(JsonEvent&)>& take);
    void key(std::string text);
    void scalar(Scalar value);
    void event_field(Scalar value);
    void argument(const Scalar& value);
    void payload(const Scalar& value);
    void header(const Scalar& value);
    bool in_list() const { return list_ != kNone; }
    bool in_event() const { return in_list() && tokens_.depth() > list_; }

    ImportEvents& out_;
    JsonTokens tokens_;
    std::size_t size_;
    std::uint64_t offset_ = 0;
    std::string fault_;
    std::uint64_t fault_byte_ = 0;
    std::size_t list_ = kNone;  // depth of the list of events while it is open
    bool found_ = false;        // the list
    bool taken_ = false;        // an event of it, good or bad
    std::string top_key_, event_key_, inner_key_, header_key_;
    std::size_t element_ = 0;  // of the list in an event's args
    JsonEvent event_;
    GpuDeviceEvent device_;
};

}  // namespace gs::chrome
