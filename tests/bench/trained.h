// What the benches that train have in common: a capture from the command line, settings from the
// rest of it, a training from beginning to end. Anything wrong ends the program with what it is.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/seconds.h"
#include "renderer/io/captures/capture_io.h"
#include "trainer/trainer.h"

namespace gs {

template <class T>
T or_end(Result<T> made) {
    if (made) return *std::move(made);
    fmt::print("{}\n", made.error().text());
    std::exit(2);
}

inline Capture capture_at(const std::string& path, int downscale, bool undistort = false) {
    return or_end(load_capture(path, {.downscale = downscale, .undistort = undistort}));
}

/// SETTING=VALUE ..., from argument `first` on.
inline NamedValues values_from(int argc, char** argv, int first) {
    NamedValues out;
    for (int i = first; i < argc; ++i) {
        const std::string text = argv[i];
        const std::size_t equals = std::min(text.find('='), text.size() - 1);
        out.emplace_back(text.substr(0, equals), std::atof(text.c_str() + equals + 1));
    }
    return out;
}

struct Trained {
    std::unique_ptr<Trainer> trainer;  ///< of a run that is finished, on the CPU
    double seconds = 0;
};
inline Trained train(std::shared_ptr<const Capture> capture, const NamedValues& values) {
    Trained out{or_end(
        Trainer::create(std::move(capture), or_end(make_settings(values)), make_cpu_training()))};
    const auto start = std::chrono::steady_clock::now();
    while (!out.trainer->finished()) out.trainer->step();
    out.seconds = seconds_since(start);
    return out;
}

}  // namespace gs
