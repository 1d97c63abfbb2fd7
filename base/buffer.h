// Buffer<T>: 64-byte aligned host memory for arrays that SIMD lanes walk. Grows by high-water mark
// and keeps its capacity, so a steady-state frame or step allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace gs {

inline constexpr std::size_t kBufferAlignment = 64;

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>, "Buffer holds plain data");

  public:
    Buffer() = default;
    explicit Buffer(std::size_t size) { resize_discard(size); }
    Buffer(const Buffer& other) { *this = other; }
    Buffer(Buffer&& other) noexcept
        : data_(std::move(other.data_)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    Buffer& operator=(const Buffer& other) {
        if (this != &other) {
            resize_discard(other.size_);
            if (size_ > 0) std::memcpy(data(), other.data(), size_ * sizeof(T));
        }
        return *this;
    }
    Buffer& operator=(Buffer&& other) noexcept {
        data_ = std::move(other.data_);
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    /// New content is not initialised; old content is lost when the buffer has to grow.
    void resize_discard(std::size_t size) {
        if (size > capacity_) {
            const std::size_t wanted = std::max(size, capacity_ + capacity_ / 2);
            *this = Buffer();  // and so it stays when there is no memory
            data_.reset(static_cast<T*>(
                ::operator new (padded_bytes(wanted), std::align_val_t{kBufferAlignment})));
            capacity_ = wanted;
        }
        size_ = size;
    }
    /// Keeps old content; new elements are `value`.
    void resize(std::size_t size, T value = T{}) {
        if (size > capacity_) {
            Buffer larger;
            larger.resize_discard(std::max(size, capacity_ + capacity_ / 2));
            if (size_ > 0) std::memcpy(larger.data(), data(), size_ * sizeof(T));
            larger.size_ = size_;
            *this = std::move(larger);
        }
        if (size > size_) std::fill(data() + size_, data() + size, value);
        size_ = size;
    }
    void fill(T value) { std::fill(begin(), end(), value); }

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::size_t capacity_bytes() const { return capacity_ * sizeof(T); }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    std::span<T> span() { return {data(), size_}; }
    std::span<const T> span() const { return {data(), size_}; }

  private:
    // Rounded up to whole vectors, so that a full-width load at the end stays inside the
    // allocation.
    static std::size_t padded_bytes(std::size_t count) {
        return (count * sizeof(T) + 2 * kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    struct Free {
        void operator()(T* p) const noexcept {
            ::operator delete (p, std::align_val_t{kBufferAlignment});
        }
    };
    std::unique_ptr<T, Free> data_;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace gs
