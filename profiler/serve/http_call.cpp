#include "profiler/serve/http_call.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

namespace gs::serve {
namespace {

struct FreedCall {
    void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

struct CallSink {
    const HttpCall& call;
    HttpReply& reply;
    CURL* handle;
};

std::size_t take_content(char* data, std::size_t size, std::size_t count, void* into) {
    constexpr std::size_t kMostText = 64 << 10;
    const auto& [call, reply, handle] = *static_cast<CallSink*>(into);
    const std::string_view piece(data, size * count);
    ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
    if (call.take && reply.status / 100 == 2) return call.take(piece) ? piece.size() : 0;
    reply.text += piece.substr(0, kMostText - std::min(kMostText, reply.text.size()));
    return piece.size();
}

int stop_asked(void* token, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const std::stop_token*>(token)->stop_requested() ? 1 : 0;
}

}  // namespace

HttpReply call_http(const HttpCall& call) {
    static const CURLcode begun = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    HttpReply reply;
    const std::unique_ptr<CURL, FreedCall> handle(begun == CURLE_OK ? ::curl_easy_init() : nullptr);
    if (!handle) return {0, {}, "libcurl cannot start"};
    const std::unique_ptr<curl_slist, FreedCall> headers(::curl_slist_append(nullptr, "Expect:"));
    for (const auto& [key, text] : call.headers)
        static_cast<void>(::curl_slist_append(
            headers.get(), (text.empty() ? key + ";" : key + ": " + text).c_str()));
    CallSink sink{call, reply, handle.get()};
    const auto set = [&](CURLoption option, auto value) {
        ::curl_easy_setopt(handle.get(), option, value);
    };
    set(CURLOPT_URL, call.url.c_str());
    set(CURLOPT_HTTPHEADER, headers.get());
    if (call.method != "GET") {
        set(CURLOPT_POSTFIELDS, call.body.data() != nullptr ? call.body.data() : "");
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    }
    set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    set(CURLOPT_USERAGENT, "gausscope");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(call.patience.count()));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(call.to_connect.count()));
    if (call.direct) set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_WRITEFUNCTION, take_content);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&sink));
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, stop_asked);
    set(CURLOPT_XFERINFODATA, static_cast<const void*>(&call.stop));
    const CURLcode done = ::curl_easy_perform(handle.get());
    if (done != CURLE_OK) reply.trouble = ::curl_easy_strerror(done);
    ::curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &reply.status);
    return reply;
}

}  // namespace gs::serve
