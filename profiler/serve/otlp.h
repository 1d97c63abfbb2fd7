// OTLP: sends the figures to an OpenTelemetry collector, for users who have one in place of a
// Prometheus that comes and asks. Message format: opentelemetry-proto 1.x, collector/metrics/v1 and
// metrics/v1; sent as protobuf over HTTP. Used by Daemon.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/expected.h"
#include "base/mailbox.h"
#include "profiler/serve/exposition.h"

namespace gs::serve {

struct OtlpOptions {
    std::string url;  ///< "http://localhost:4318"; one without a path gets the protocol's own
    std::chrono::milliseconds interval{60'000};
    Labels headers;  ///< of every request
    /// Whose figures these are; host.name and service.name are added where they are missing. One
    /// without a text is left out.
    Labels resource;
};

/// "key=value,key=value", values percent-encoded: how OTEL_EXPORTER_OTLP_HEADERS and
/// OTEL_RESOURCE_ATTRIBUTES are written.
Result<Labels> otlp_pairs(const std::string& text);

/// An ExportMetricsServiceRequest. Counters and histograms are cumulative since `start_ns`; times
/// are nanoseconds since 1970.
std::string otlp_message(const Exposition& figures, const Labels& resource, std::uint64_t start_ns,
                         std::uint64_t now_ns);

/// A Resource, which is what figures or profiles are of.
std::string otlp_resource(const Labels& attributes);

class OtlpPusher {
  public:
    /// Of requests, by what they carry.
    struct Counts {
        struct Of {
            const char* signal;
            std::uint64_t accepted, failed;
        };
        std::array<Of, 2> of;
    };
    static Result<std::unique_ptr<OtlpPusher>> start(OtlpOptions options);
    /// Sends what was offered last.
    ~OtlpPusher();
    OtlpPusher(const OtlpPusher&) = delete;
    OtlpPusher& operator=(const OtlpPusher&) = delete;

    /// It is time for the next request.
    bool wants() const { return wants_; }
    /// The newest figures; the next request sends the newest that were offered. Never waits.
    void offer(Exposition figures, std::string profiles = {});
    const Labels& resource() const { return options_.resource; }
    Counts counts() const { return {{metrics_.counted(), profiles_.counted()}}; }

  private:
    explicit OtlpPusher(OtlpOptions options);
    void run(const std::stop_token& stop);
    struct Offered {
        Exposition figures;
        std::string profiles;       ///< otlp_profiles()
        std::uint64_t time_ns = 0;  ///< since 1970
    };
    /// Where one kind of messages goes.
    struct Path {
        std::string url;
        const char *signal, *what;
        const char* after;      ///< what becomes of a request that failed
        std::string trouble{};  ///< why the last request failed
        std::atomic<std::uint64_t> accepted{0}, failed{0};
        Counts::Of counted() const { return {signal, accepted, failed}; }
    };
    void send(const Offered& offered, const std::stop_token& stop);
    void send(Path& path, const std::string& message, const std::stop_token& stop);
    /// Empty when it was taken, else why not.
    std::string post(const std::string& url, const std::string& message,
                     const std::stop_token& stop) const;

    OtlpOptions options_;
    std::uint64_t start_ns_;
    Latest<Offered> newest_;
    std::atomic<bool> wants_{true};
    Path metrics_, profiles_;
    std::jthread thread_;
};

}  // namespace gs::serve
