#include <algorithm>

#include "base/parallel.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/photo_load.h"
#include "renderer/io/captures/undistort.h"
#include "renderer/io/images/image_io.h"

namespace gs {

Result<CaptureForecast> forecast_capture(const CaptureFiles& files, const CaptureOptions& options) {
    const Span span{Stage::load};
    GS_TRY(auto source, read_capture_source(files, options.model));
    GS_TRY_VOID(prepare_frames(source, options));
    const std::size_t count = source.frames.size();
    // One slot a frame, so that the sums do not depend on threads.
    struct Need {
        int width = 0, height = 0;
        std::uint64_t resident = 0, decoding = 0;
    };
    std::vector<Need> needs(count);
    parallel_for(count, 4, [&](std::size_t i) {
        const auto size = probe_image(source.frames[i].photo);
        const auto plan =
            size ? plan_view(source.frames[i], *size, options) : tl::unexpected(size.error());
        if (!plan) return;
        const auto area = [](const Camera& c) {
            return static_cast<std::uint64_t>(c.width) * static_cast<std::uint64_t>(c.height);
        };
        // RGB and perhaps a mask stay. While decoding: the file's pixels, the RGB copy, the
        // undistorted one and two masks.
        const bool masked =
            is_distorted(plan->lens) || !source.frames[i].mask.empty() || size->channels == 4;
        needs[i] = {plan->scaled.width, plan->scaled.height, area(plan->scaled) * (masked ? 4 : 3),
                    area(plan->lens) * static_cast<std::uint64_t>(size->channels + 4) +
                        (plan->resampled ? area(plan->full) * 4 : 0)};
    });
    CaptureForecast out;
    std::uint64_t largest = 0;
    for (const Need& need : needs) {
        if (need.width == 0) continue;
        ++out.photos;
        if (static_cast<std::int64_t>(need.width) * need.height >
            static_cast<std::int64_t>(out.width) * out.height) {
            out.width = need.width;
            out.height = need.height;
        }
        out.photo_bytes += options.photos ? need.resident : 0;
        largest = std::max(largest, need.decoding);
    }
    if (options.photo_memory > 0 && out.photo_bytes > options.photo_memory) {
        out.streamed_bytes = out.photo_bytes - options.photo_memory;
        out.photo_bytes = options.photo_memory;
    }
    const auto threads =
        static_cast<std::uint64_t>(options.threads > 0 ? options.threads : thread_count());
    out.decode_bytes = options.photos ? largest * std::min<std::uint64_t>(threads, count) : 0;
    out.points = options.random_points > 0 ? options.random_points
                 : source.points.empty()   ? kRandomPoints
                                           : source.points.size();
    return out;
}

}  // namespace gs
