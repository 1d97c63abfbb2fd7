#include "trainer/run/step_pack.h"

namespace gs::steps {

std::vector<std::byte> packed_words(Words words, Words like) {
    const std::size_t n = words.size();
    std::vector<std::byte> out(4 * n);
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t word = words[i] ^ (like.empty() ? before : like[i]);
        before = words[i];
        for (std::size_t byte = 0; byte < 4; ++byte)
            out[byte * n + i] = static_cast<std::byte>(word >> (8 * byte));
    }
    return out;
}

void unpack_words(std::span<const std::byte> bytes, std::span<std::uint32_t> out, Words like) {
    const std::size_t n = out.size();
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t word = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
            word |= std::to_integer<std::uint32_t>(bytes[byte * n + i]) << (8 * byte);
        before = out[i] = word ^ (like.empty() ? before : like[i]);
    }
}

}  // namespace gs::steps
