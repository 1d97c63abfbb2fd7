#include "renderer/raster/cuda/display.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

namespace gs::cuda {
namespace {

constexpr std::size_t kRowAlignment = 256;  // bytes: rows begin where wide copies like them

}  // namespace

struct DisplayPacker::Pool {
    struct Slot final : DevicePicture {
        DeviceBuffer<std::uint32_t> memory{"picture for the screen"};
        Event written_event, read_event;
        Pool* pool = nullptr;  // lives as long as every loan
        bool on_loan = false;  // guarded by pool->mutex

        Slot() {
            check(cudaGetDevice(&device), "asking which device is in use");
            written = written_event.get();
            read = read_event.get();
        }
        void download(
            const std::function<void(std::span<const std::uint8_t>)>& take) const override {
            pool->download(*this, take);
        }
    };
    std::mutex mutex;
    std::array<Slot, kDisplayPictures> slots;
    // Downloads: whoever shows pictures without interop; one at a time.
    std::mutex download_mutex;
    Stream download_stream{"display download"};
    std::unique_ptr<PinnedBuffer<std::uint8_t>> host;

    Pool() {
        for (Slot& slot : slots) slot.pool = this;
    }
    // The last picture may be given back by a thread that shows pictures and nothing else.
    ~Pool() { (void)choose_device(slots[0].device); }

    void download(const Slot& slot,
                  const std::function<void(std::span<const std::uint8_t>)>& take) {
        const std::lock_guard lock(download_mutex);
        use_device(slot.device);  // called by whoever shows pictures
        const std::size_t row = static_cast<std::size_t>(slot.width) * 4,
                          bytes = row * static_cast<std::size_t>(slot.height);
        if (!host || host->size() < bytes) {
            host.reset();
            host = std::make_unique<PinnedBuffer<std::uint8_t>>(
                bytes, "picture for the screen, on the host");
        }
        slot.written_event.hold(download_stream);
        check(cudaMemcpy2DAsync(host->data(), row, slot.pixels, slot.pitch, row,
                                static_cast<std::size_t>(slot.height), cudaMemcpyDeviceToHost,
                                download_stream.get()),
              "downloading a picture");
        download_stream.synchronize();
        take({host->data(), bytes});
    }
};

DisplayPacker::DisplayPacker() : pool_(std::make_shared<Pool>()) {}
DisplayPacker::~DisplayPacker() = default;

std::shared_ptr<const DevicePicture> DisplayPacker::pack(const float* color, int width, int height,
                                                         const Stream& stream) {
    if (width <= 0 || height <= 0) return nullptr;
    Pool::Slot* slot = nullptr;
    {
        const std::lock_guard lock(pool_->mutex);
        const auto free = std::find_if(pool_->slots.begin(), pool_->slots.end(),
                                       [](const Pool::Slot& each) { return !each.on_loan; });
        if (free == pool_->slots.end()) return nullptr;
        free->on_loan = true;
        slot = &*free;
    }
    std::shared_ptr<const DevicePicture> loan(slot, [pool = pool_, slot](const DevicePicture*) {
        const std::lock_guard lock(pool->mutex);
        slot->on_loan = false;
    });
    slot->read_event.hold(stream);  // whoever showed what lay here before may still be copying
    const std::size_t row = static_cast<std::size_t>(width) * 4;
    slot->width = width;
    slot->height = height;
    slot->pitch = (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    slot->memory.resize_discard(slot->pitch / 4 * static_cast<std::size_t>(height), stream);
    slot->pixels = slot->memory.data();
    launch_pack_rgba(color, width, height, slot->memory.data(), slot->pitch, stream);
    slot->written_event.record(stream);
    return loan;
}

std::size_t DisplayPacker::bytes() const {
    std::size_t sum = 0;
    for (const Pool::Slot& slot : pool_->slots) sum += slot.memory.capacity_bytes();
    return sum;
}

}  // namespace gs::cuda
