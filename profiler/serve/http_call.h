// HttpCall: one HTTP request by libcurl, as a client. Used to push metrics (otlp.h), and to ask the
// daemons of other nodes (`gausscope trigger`).
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "profiler/serve/exposition.h"

namespace gs::serve {

struct HttpCall {
    std::string url, method = "GET";
    Labels headers{};
    std::string_view body{};
    std::chrono::milliseconds patience{10'000}, to_connect{10'000};
    bool direct = false;  ///< by no proxy, whatever the environment says
    std::stop_token stop{};
    /// Takes the content of a successful answer, in pieces; false ends the call. Without it the
    /// content is in HttpReply::text.
    std::function<bool(std::string_view)> take{};
};

struct HttpReply {
    long status = 0;
    std::string text;     ///< at most 64 KiB
    std::string trouble;  ///< why there is no answer; empty: there is one
};

/// May be called from any thread. Waits for the answer.
HttpReply call_http(const HttpCall& call);

}  // namespace gs::serve
