// The device layer's host side: streams, events, memory, each an owner of one CUDA object. Every
// call is checked here and throws DeviceError with what was being done; destructors never throw.
// Only device/cuda, raster/cuda, trainer/cuda and present's interop include it. The tests compile
// all of that against an emulated cuda_runtime.h that also counts calls (tests/support/emulator),
// which is how "no synchronisation and no allocation in a steady step" is a test.
#pragma once

#if defined(__CUDACC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1  // fmt 9 does not expect it of nvcc and then contradicts itself
#endif

#include <cuda_runtime.h>

#include <cstddef>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "renderer/device/cuda/device.h"

namespace gs::cuda {

/// Throws DeviceError("<what>: <CUDA's message> (file:line)") unless `status` is success. It also
/// clears the sticky error of a failed launch.
void check(cudaError_t status, const char* what,
           std::source_location where = std::source_location::current());

/// From now on the calling thread works on device `index`, which gets a context if it has none.
/// Everything that calls CUDA does this first: otherwise a thread works on device 0, whatever
/// device the user chose, and its first call would make a context there.
void use_device(int index);
/// The same for callers that report errors another way, and for destructors, which report none.
cudaError_t choose_device(int index) noexcept;
/// The device chosen for the calling thread; -1: none yet.
int device_in_use() noexcept;

class Stream;

/// A point in a stream's work.
class Event {
  public:
    enum class Timing : bool { off, on };
    enum class Waiting : bool { never, sleeps };  ///< sleeps: wait() may be called
    explicit Event(Timing timing = Timing::off, Waiting waiting = Waiting::never);
    ~Event();
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&& other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    void record(const Stream& stream);
    /// True when the work before it is done (or it was never recorded). Never waits.
    bool reached() const;
    /// Waits for it: looks for some microseconds, then the thread sleeps until the device wakes it.
    void wait() const;
    /// The same where a wait must be distinguishable from polling: ends in a call that waits.
    void wait_surely(const char* what) const;
    /// `stream` continues only after this point; the host continues at once.
    void hold(const Stream& stream) const;
    /// Milliseconds from `earlier` to this; both reached, both with timing.
    float milliseconds_since(const Event& earlier) const;
    cudaEvent_t get() const { return event_; }

  private:
    bool comes_soon() const;  ///< looks for some microseconds
    cudaEvent_t event_ = nullptr;
};

/// A stream of its own, which never waits for the default stream. `name` must outlive it; traces
/// use it ("training").
class Stream {
  public:
    explicit Stream(const char* name);
    /// A caller's, which stays its own; null is the default stream.
    Stream(cudaStream_t borrowed, const char* name)
        : stream_(borrowed), name_(name), owned_(false) {}
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get() const { return stream_; }
    const char* name() const { return name_; }
    /// Waits until everything given so far is done, as Event::wait() does. Not in a steady frame or
    /// step.
    void synchronize() const;

  private:
    cudaStream_t stream_ = nullptr;
    const char* name_;
    bool owned_ = true;
    mutable Event done_{Event::Timing::off, Event::Waiting::sleeps};
};

/// Raw allocation, counted for cuda_memory(). `what` names the purpose in the error: "… growing
/// to 4.2 M Gaussians". `ordered`: in the order of that stream's work, so that nothing waits.
void* allocate_device(std::size_t bytes, const char* what, const Stream* ordered = nullptr);
void free_device(void* pointer, std::size_t bytes, const Stream* ordered = nullptr) noexcept;
void* allocate_pinned(std::size_t bytes, const char* what);
void free_pinned(void* pointer) noexcept;

void copy_to_device(void* to, const void* from, std::size_t bytes, const Stream& stream);
void copy_to_host(void* to, const void* from, std::size_t bytes, const Stream& stream);
void copy_on_device(void* to, const void* from, std::size_t bytes, const Stream& stream);
void fill_bytes(void* to, int byte, std::size_t bytes, const Stream& stream);

/// An array in device memory. Grows by high-water mark and keeps its capacity, so a steady frame or
/// step allocates nothing. Growing waits for the stream that uses the old memory.
template <class T>
class DeviceBuffer {
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain data");

  public:
    /// `what`: its purpose, for errors; a literal. `ordered`: the one stream that uses it, which
    /// outlives it; growing and giving back wait for nothing then.
    explicit DeviceBuffer(const char* what, const Stream* ordered = nullptr)
        : what_(what), ordered_(ordered) {}
    ~DeviceBuffer() { free_device(data_, capacity_ * sizeof(T), ordered_); }
    DeviceBuffer(DeviceBuffer&& other) noexcept
        : what_(other.what_),
          ordered_(other.ordered_),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
        std::swap(what_, other.what_);
        std::swap(ordered_, other.ordered_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    /// Content is lost when it has to grow, and not initialised.
    void resize_discard(std::size_t size, const Stream& stream) {
        if (size > capacity_) {
            if (data_ != nullptr && ordered_ == nullptr) stream.synchronize();
            free_device(data_, capacity_ * sizeof(T), ordered_);
            data_ = nullptr;
            size_ = capacity_ = 0;
            data_ = static_cast<T*>(allocate_device(size * sizeof(T), what_, ordered_));
            capacity_ = size;
        }
        size_ = size;
    }
    void upload(std::span<const T> from, const Stream& stream) {
        resize_discard(from.size(), stream);
        if (!from.empty()) copy_to_device(data_, from.data(), from.size_bytes(), stream);
    }
    /// `to` is complete once `stream` is. Sizes must agree.
    void download(std::span<T> to, const Stream& stream) const {
        CHECK(to.size() <= size_);
        if (!to.empty()) copy_to_host(to.data(), data_, to.size_bytes(), stream);
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::size_t capacity_bytes() const { return capacity_ * sizeof(T); }

  private:
    const char* what_;
    const Stream* ordered_;
    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

/// Page-locked host memory, which copies can use while the host continues.
template <class T>
class PinnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>, "copies move plain data");

  public:
    explicit PinnedBuffer(std::size_t size, const char* what)
        : data_(static_cast<T*>(allocate_pinned(size * sizeof(T), what))), size_(size) {}
    ~PinnedBuffer() { free_pinned(data_); }
    PinnedBuffer(PinnedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    T* data_;
    std::size_t size_;
};

/// One region that a frame's or step's arrays are carved from, in order, from the start each time.
/// It grows only in reset(), to the size asked for and, except the first time, a quarter more if
/// memory has space for that; it never shrinks. If growing throws, it is empty and nothing is
/// taken.
class Arena {
  public:
    /// `what`: its purpose, a literal.
    explicit Arena(const char* what) : region_(what) {}
    /// Starts over with at least `bytes`. Growing waits for `stream`; a steady frame never grows.
    void reset(std::size_t bytes, const Stream& stream);
    /// `count` values, aligned to 256 bytes, not initialised. The region must be large enough: see
    /// reset().
    template <class T>
    T* take(std::size_t count) {
        return static_cast<T*>(take_bytes(count * sizeof(T)));
    }
    /// What `count` values of T will use of the region.
    template <class T>
    static constexpr std::size_t bytes_of(std::size_t count) {
        return (count * sizeof(T) + 255) / 256 * 256;
    }
    std::size_t bytes() const { return region_.capacity_bytes(); }
    std::size_t high_water() const { return high_water_; }

  private:
    void* take_bytes(std::size_t bytes);
    DeviceBuffer<std::byte> region_;
    std::size_t used_ = 0, high_water_ = 0;
};

}  // namespace gs::cuda
