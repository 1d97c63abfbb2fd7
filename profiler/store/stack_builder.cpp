#include "profiler/store/stack_builder.h"

#include <fmt/format.h>

namespace gs {

std::uint32_t StackBuilder::frame(TraceBatch& batch, const FrameEvent& f) {
    const std::string key = fmt::format("{}\n{}\n{}\n{}", f.function, f.file, f.module, f.line);
    const auto [place, added] =
        index_of_frame_.try_emplace(key, static_cast<std::uint32_t>(batch.frames.size()));
    if (added) batch.frames.push_back(f);
    return place->second;
}

std::uint32_t StackBuilder::add(TraceBatch& batch, std::span<const FrameEvent> frames) {
    std::uint32_t stack = kNoStack;
    for (std::size_t f = frames.size(); f-- > 0;) {
        const StackEvent event{stack, frame(batch, frames[f])};
        const auto [place, added] =
            index_of_stack_.try_emplace(std::uint64_t{event.parent} << 32 | event.frame,
                                        static_cast<std::uint32_t>(batch.stacks.size()));
        if (added) batch.stacks.push_back(event);
        stack = place->second;
    }
    return stack;
}

void StackBuilder::clear() {
    index_of_frame_.clear();
    index_of_stack_.clear();
}

}  // namespace gs
