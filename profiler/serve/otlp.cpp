#include "profiler/serve/otlp.h"

#include <curl/curl.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <protozero/pbf_writer.hpp>

#include "base/log.h"
#include "base/machine.h"
#include "base/record/clock.h"
#include "base/try.h"
#include "profiler/serve/http_call.h"

namespace gs::serve {
namespace {

using protozero::pbf_writer;
using namespace std::chrono_literals;

// ---- the message ----

namespace tag {
enum : std::uint32_t {
    kResourceMetrics = 1,
    kResource = 1,
    kScopeMetrics = 2,
    kScope = 1,
    kMetrics = 2,
    kName = 1,
    kDescription = 2,
    kUnit = 3,
    kGauge = 5,
    kSum = 7,
    kHistogram = 9,
    kPoints = 1,
    kTemporality = 2,
    kMonotonic = 3,
    kStart = 2,
    kTime = 3,
    kDouble = 4,
    kCount = 4,
    kHistogramSum = 5,
    kBucketCounts = 6,
    kBounds = 7,
    kAttributes = 7,
    kHistogramAttributes = 9,
    kResourceAttributes = 1,
    kKey = 1,
    kValue = 2,
    kString = 1
};
}  // namespace tag
constexpr std::int32_t kCumulative = 2;

struct Times {
    std::uint64_t start_ns, now_ns;
};

void add_attributes(pbf_writer& to, std::uint32_t field, const Labels& labels) {
    const auto add = [&](const std::string& key, const std::string& text) {
        pbf_writer pair(to, field);
        pair.add_string(tag::kKey, key);
        pbf_writer(pair, tag::kValue).add_string(tag::kString, text);
    };
    for (const auto& [key, text] : labels) {
        add(key, text);
        // Prometheus makes another `job` of the resource's service.name.
        if (key == "job") add("gausscope.job", text);
    }
}

/// As UCUM writes it, which OpenTelemetry asks for.
std::string_view ucum(std::string_view unit) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kUnits{{
        {"seconds", "s"},
        {"bytes", "By"},
        {"ratio", "1"},
        {"hertz", "Hz"},
        {"watts", "W"},
        {"celsius", "Cel"},
    }};
    for (const auto& [name, short_name] : kUnits)
        if (unit == name) return short_name;
    return unit;
}

void add_times(pbf_writer& point, const Times& times) {
    point.add_fixed64(tag::kStart, times.start_ns);
    point.add_fixed64(tag::kTime, times.now_ns);
}

void add_histogram_point(pbf_writer& data, const Exposition::Point& told, const Times& times) {
    const TimeHistogram& histogram = *told.times;
    pbf_writer point(data, tag::kPoints);
    add_times(point, times);
    point.add_fixed64(tag::kCount, histogram.count());
    point.add_double(tag::kHistogramSum, histogram.sum);
    point.add_packed_fixed<std::uint64_t>(tag::kBucketCounts, histogram.counts.begin(),
                                          histogram.counts.end());
    point.add_packed_double(tag::kBounds, kBuckets.begin(), kBuckets.end());
    add_attributes(point, tag::kHistogramAttributes, told.labels);
}

void add_metric(pbf_writer& scope, const Exposition::Family& family, const std::string& name,
                const Times& times) {
    pbf_writer metric(scope, tag::kMetrics);
    metric.add_string(tag::kName, name);
    metric.add_string(tag::kDescription, family.help);
    metric.add_string(tag::kUnit, std::string(ucum(family.unit)));
    const bool histogram = family.type == Exposition::Type::histogram;
    // By the conventions an UpDownCounter: a sum that may fall.
    const bool sum = family.type == Exposition::Type::counter || name == "hw.gpu.memory.usage";
    pbf_writer data(metric, histogram ? tag::kHistogram : sum ? tag::kSum : tag::kGauge);
    if (histogram || sum) data.add_enum(tag::kTemporality, kCumulative);
    if (family.type == Exposition::Type::counter) data.add_bool(tag::kMonotonic, true);
    for (const Exposition::Point& told : family.points) {
        if (told.times) {
            add_histogram_point(data, told, times);
            continue;
        }
        pbf_writer point(data, tag::kPoints);
        add_times(point, times);
        point.add_double(tag::kDouble, told.value);
        add_attributes(point, tag::kAttributes, told.labels);
    }
}

/// The labels of a GPU, as the conventions for hardware name them.
Labels hardware_labels(const Labels& labels) {
    Labels out{{"hw.type", "gpu"}, {"hw.vendor", "NVIDIA"}};
    for (const auto& [key, text] : labels)
        if (key == "uuid" || key == "model")
            out.emplace_back(key == "uuid" ? "hw.id" : "hw.name", text);
    return out;
}

/// Under its own name, and under OpenTelemetry's where there is one.
void add_metrics(pbf_writer& scope, const Exposition::Family& family, const Times& times) {
    const bool info = family.type == Exposition::Type::info;
    add_metric(scope, family, info ? family.name + "_info" : family.name, times);
    if (family.semantic.empty()) return;
    Exposition::Family hardware = family;
    for (Exposition::Point& point : hardware.points) point.labels = hardware_labels(point.labels);
    add_metric(scope, hardware, family.semantic, times);
}

// ---- HTTP ----

constexpr auto kPatience = 10s, kLastPatience = 2s;

struct Freed {
    void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
    void operator()(char* text) const { ::curl_free(text); }
};
template <class T>
using Held = std::unique_ptr<T, Freed>;

/// Of an address, what may be shown: without a user's name and password.
std::string shown(std::string url) {
    const std::size_t scheme = url.find("://");
    const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
    const std::size_t at = url.rfind('@', url.find_first_of("/?#", host));
    if (at != std::string::npos && at >= host) url.erase(host, at + 1 - host);
    return url;
}

std::string trimmed(std::string text) {
    constexpr const char* kSpace = " \t";
    text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
    text.erase(text.find_last_not_of(kSpace) + 1);
    return text;
}

tl::unexpected<Error> cannot_push_to(const std::string& url, const std::string& wrong) {
    return fail(ErrorKind::usage, shown(url), "cannot be pushed to: " + wrong,
                "an address like http://localhost:4318");
}

/// `url` with the path that metrics go to, where it has none.
Result<std::string> endpoint_of(const std::string& url) {
    const Held<CURLU> parsed(::curl_url());
    const auto wrong = ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
    if (wrong != CURLUE_OK) return cannot_push_to(url, ::curl_url_strerror(wrong));
    const auto part = [&](CURLUPart which) {
        char* text = nullptr;
        ::curl_url_get(parsed.get(), which, &text, 0);
        const Held<char> held(text);
        return std::string(text ? text : "");
    };
    if (const std::string scheme = part(CURLUPART_SCHEME); scheme != "http" && scheme != "https")
        return cannot_push_to(url, "it is neither http nor https");
    if (const std::string path = part(CURLUPART_PATH); path.empty() || path == "/")
        ::curl_url_set(parsed.get(), CURLUPART_PATH, "/v1/metrics", 0);
    return part(CURLUPART_URL);
}

/// Beside the metrics; empty: these go to a path of the user's own.
std::string profiles_url(std::string url) {
    constexpr std::string_view kMetrics = "/v1/metrics";
    if (!url.ends_with(kMetrics)) return {};
    return url.replace(url.size() - kMetrics.size(), kMetrics.size(), "/v1development/profiles");
}

}  // namespace

Result<Labels> otlp_pairs(const std::string& text) {
    Labels out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string pair = text.substr(at, end - at);
        at = end + 1;
        const std::size_t equals = pair.find('=');
        const std::string key = trimmed(pair.substr(0, equals));
        if (trimmed(pair).empty()) continue;
        if (equals == std::string::npos || key.empty())
            return fail(ErrorKind::usage, key, "is not key=value", "key=value,key=value");
        const std::string encoded = trimmed(pair.substr(equals + 1));
        int length = 0;
        const Held<char> decoded(::curl_easy_unescape(nullptr, encoded.c_str(), 0, &length));
        const std::string value(decoded.get(), static_cast<std::size_t>(length));
        if (std::ranges::any_of(key, is_control) || std::ranges::any_of(value, is_control))
            return fail(ErrorKind::usage, key, "holds a control character");
        out.emplace_back(key, value);
    }
    return out;
}

std::string otlp_message(const Exposition& figures, const Labels& resource, std::uint64_t start_ns,
                         std::uint64_t now_ns) {
    std::string out;
    {  // a message is whole when its writer has ended
        pbf_writer request(out);
        pbf_writer of_resource(request, tag::kResourceMetrics);
        of_resource.add_message(tag::kResource, otlp_resource(resource));
        pbf_writer scope(of_resource, tag::kScopeMetrics);
        pbf_writer(scope, tag::kScope).add_string(tag::kName, "gausscope");
        for (const Exposition::Family& family : figures.families())
            if (!family.points.empty()) add_metrics(scope, family, {start_ns, now_ns});
    }
    return out;
}

std::string otlp_resource(const Labels& attributes) {
    std::string out;
    pbf_writer writer(out);
    add_attributes(writer, tag::kResourceAttributes, attributes);
    return out;
}

Result<std::unique_ptr<OtlpPusher>> OtlpPusher::start(OtlpOptions options) {
    GS_TRY(auto url, endpoint_of(options.url));
    options.url = std::move(url);
    const auto add = [&](const char* key, const std::string& text) {
        const auto is_it = [&](const auto& pair) { return pair.first == key; };
        if (std::ranges::none_of(options.resource, is_it)) options.resource.emplace_back(key, text);
    };
    add("host.name", host_name());
    add("service.name", "gausscope");
    std::erase_if(options.resource, [](const auto& pair) { return pair.second.empty(); });
    return std::unique_ptr<OtlpPusher>(new OtlpPusher(std::move(options)));
}

OtlpPusher::OtlpPusher(OtlpOptions options)
    : options_(std::move(options)),
      start_ns_(clock_ns(CLOCK_REALTIME)),
      metrics_{options_.url, "metrics", "metrics", "retrying"},
      profiles_{profiles_url(options_.url), "profiles", "call stacks",
                "they are lost, newer ones follow"},
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

OtlpPusher::~OtlpPusher() = default;

void OtlpPusher::offer(Exposition figures, std::string profiles) {
    wants_ = false;
    newest_.put({std::move(figures), std::move(profiles), clock_ns(CLOCK_REALTIME)});
}

void OtlpPusher::run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        const auto offered = newest_.take();
        if (offered) send(*offered, stop);
        stopped.wait_for(lock, stop, offered ? options_.interval : 100ms, [] { return false; });
        wants_ = wants_ || offered;
    }
    if (const auto offered = newest_.take()) send(*offered, {});
}

void OtlpPusher::send(const Offered& offered, const std::stop_token& stop) {
    send(metrics_, otlp_message(offered.figures, options_.resource, start_ns_, offered.time_ns),
         stop);
    if (!offered.profiles.empty() && !profiles_.url.empty())
        send(profiles_, offered.profiles, stop);
}

void OtlpPusher::send(Path& path, const std::string& message, const std::stop_token& stop) {
    const std::string trouble = post(path.url, message, stop);
    ++(trouble.empty() ? path.accepted : path.failed);
    if (trouble.empty() && !path.trouble.empty())
        log_info("{} accepts {} again", shown(path.url), path.what);
    if (!trouble.empty() && path.trouble.empty() && !stop.stop_requested())
        log_warning("{} do not reach {}: {}; {} every {} s", path.what, shown(path.url), trouble,
                    path.after, std::chrono::duration<double>(options_.interval).count());
    path.trouble = trouble;
}

std::string OtlpPusher::post(const std::string& url, const std::string& message,
                             const std::stop_token& stop) const {
    HttpCall call{.url = url,
                  .method = "POST",
                  .headers = {{"Content-Type", "application/x-protobuf"}},
                  .body = message,
                  .patience = stop.stop_possible() ? kPatience : kLastPatience,
                  .stop = stop};
    call.headers.insert(call.headers.end(), options_.headers.begin(), options_.headers.end());
    HttpReply reply = call_http(call);
    if (!reply.trouble.empty()) return reply.trouble;
    constexpr std::size_t kShown = 200;
    reply.text.resize(std::min({reply.text.size(), reply.text.find_first_of("\r\n"), kShown}));
    return reply.status / 100 == 2 ? "" : fmt::format("it answers {} {}", reply.status, reply.text);
}

}  // namespace gs::serve
