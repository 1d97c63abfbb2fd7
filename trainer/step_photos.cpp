// Which photos a step gets, and in what size.
#include <new>
#include <utility>

#include "base/log.h"
#include "renderer/io/captures/shrunk_capture.h"
#include "trainer/settings/schedule.h"
#include "trainer/trainer_state.h"

namespace gs {

void Trainer::State::choose_photos() {
    const int wanted = photo_divisor(settings, steps(), side);
    if (wanted == divisor) return;
    std::shared_ptr<const Capture> resized = capture;
    try {
        if (wanted > 1) resized = shrunk_capture(*capture, wanted);
    } catch (const std::bad_alloc&) {
        side = 0;
        log_warning("step {}: no memory for smaller photos; training continues in full size",
                    steps() + 1);
        return choose_photos();
    }
    backend->change_photos(*resized);
    photos = std::move(resized);
    divisor = wanted;
    if (wanted == 1)
        log_info("step {}: photos in full size from now on", steps() + 1);
    else
        log_info("step {}: photos of 1/{} of their width and height", steps() + 1, wanted);
}

/// Read before the step begins: an unreadable photo leaves the run as it was. The backend then gets
/// the same pixels again.
std::vector<LentPhoto> Trainer::State::photos_of_step() {
    std::vector<LentPhoto> out;
    if (!photos->source) return out;
    const std::uint64_t at = sampler.drawn(), epoch = sampler.epoch();
    if (at < expected_from || at + epoch > expected_from + 2 * epoch) {
        Sampler ahead = sampler;
        std::vector<std::size_t> order;
        for (std::uint64_t i = 0; i < 2 * epoch; ++i)
            order.push_back(photos->views[ahead.next()].number);
        photos->source->expect(std::move(order));
        expected_from = at;
    }
    Sampler ahead = sampler;
    const std::uint32_t batch = batch_of(settings);
    for (std::uint32_t i = 0; i < batch; ++i)
        out.push_back(lend_photo(photos->views[ahead.next()]));
    photos->source->pass(batch);
    return out;
}

}  // namespace gs
