// How a captured step stores arrays of numbers: each word xored with one that is like it (the one
// before, or its value before the step), the bytes of all words sorted by their place in the word,
// deflated. Neighbours differ in their low bytes only, so this is about two thirds of the size, and
// it loses nothing. Private to step_file.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/expected.h"
#include "base/try.h"
#include "renderer/io/files/file_set.h"
#include "renderer/io/files/zip_writer.h"

namespace gs::steps {

/// Floats and indices alike.
using Words = std::span<const std::uint32_t>;
template <class T>
Words words_of(const Buffer<T>& values) {
    static_assert(sizeof(T) == 4);
    return {reinterpret_cast<const std::uint32_t*>(values.data()), values.size()};
}

/// `like`: as long as `words`, or empty: each word's own predecessor.
std::vector<std::byte> packed_words(Words words, Words like = {});
/// The reverse, in place of `bytes`: exactly 4 * out.size() of them.
void unpack_words(std::span<const std::byte> bytes, std::span<std::uint32_t> out, Words like = {});

/// Entry `name` of exactly `count` words. Errors: of the archive; malformed, another size.
template <class T>
Result<void> read_words(const FileSet& from, const char* name, std::size_t count, Buffer<T>& out,
                        Words like = {}) {
    static_assert(sizeof(T) == 4);
    GS_TRY(auto bytes, from.read(name, std::uint64_t{count} * 4));
    if (bytes.size() != count * 4)
        return fail(ErrorKind::malformed, from.describe(name),
                    fmt::format("has {} bytes where {} belong", bytes.size(), count * 4),
                    "the file is damaged");
    out.resize_discard(count);
    unpack_words(bytes, {reinterpret_cast<std::uint32_t*>(out.data()), count}, like);
    return {};
}

}  // namespace gs::steps
