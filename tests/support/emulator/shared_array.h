// What GS_SHARED (kernel.cuh) declares under the emulator: an array in the block's shared memory.
// All threads of a block that come by the same declaration get the same memory; it starts as poison
// (NaN as float and as double, 0xCD as bytes), and every name[i] is checked. Code that must also
// compile for a real array uses name[i], &name[i], name + i, *name, or name as an argument of type
// T*; a cast to another pointer type is written on &name[0].
#pragma once

#include <cstddef>
#include <source_location>
#include <type_traits>

namespace gs::emulator {

/// The block's memory for this declaration, `bytes` of it.
void* claim_shared(std::size_t element_bytes, std::size_t count, std::size_t alignment,
                   const char* name, std::source_location where);
[[noreturn]] void report_shared_index(const char* name, std::size_t index, std::size_t count,
                                      std::source_location where);

/// An index that knows where it was written.
struct CheckedIndex {
    template <class I>
    requires(std::is_integral_v<I> || std::is_enum_v<I>)
        CheckedIndex(I index, std::source_location place = std::source_location::current())
        : value(static_cast<std::size_t>(index)), where(place) {}
    std::size_t value;
    std::source_location where;
};

template <class T>
class SharedArray {
  public:
    SharedArray(std::size_t count, const char* name, std::source_location where)
        : data_(static_cast<T*>(claim_shared(sizeof(T), count, alignof(T), name, where))),
          count_(count),
          name_(name) {}
    SharedArray(const SharedArray&) = delete;
    SharedArray& operator=(const SharedArray&) = delete;
    T& operator[](CheckedIndex i) const {
        if (i.value >= count_) [[unlikely]]
            report_shared_index(name_, i.value, count_, i.where);
        return data_[i.value];
    }
    T& operator*() const { return *data_; }
    T* operator+(std::ptrdiff_t offset) const { return data_ + offset; }
    /// Decays like an array. A template, so that name[i] is never the built-in, unchecked one.
    template <class U>
    requires(std::is_same_v<std::remove_const_t<U>, T>) operator U*() const { return data_; }

  private:
    T* data_;
    std::size_t count_;
    const char* name_;
};

}  // namespace gs::emulator
