#include "tests/support/ptx_launches/compiled_kernels.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/support/emulator/emulator.h"
#include "tests/support/emulator/kernel_name.h"
#include "tests/support/emulator/launch.h"
#include "tests/support/emulator/poison.h"

namespace gs::ptx {
namespace {

/// 1 for bytes of words that somebody wrote.
std::vector<std::uint8_t> written_in(std::span<const std::byte> bytes) {
    std::vector<std::uint8_t> written(bytes.size(), 1);
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
        std::uint32_t word;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if (word == emulator::kPoison) std::memset(&written[at], 0, 4);
    }
    return written;
}

constexpr std::size_t kRecordBytes = 64 * 1024;  // what is larger holds no pointers

void mark_reached(std::span<const std::byte> bytes,
                  const std::vector<emulator::LiveAllocation>& live, std::vector<char>& reached) {
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= bytes.size();
         at += sizeof(std::uintptr_t)) {
        std::uintptr_t word = 0;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        for (std::size_t i = 0; i < live.size(); ++i) {
            const auto first = reinterpret_cast<std::uintptr_t>(live[i].pointer);
            if (reached[i] != 0 || word < first || word > first + live[i].bytes) continue;
            reached[i] = 1;
            if (live[i].bytes > kRecordBytes) continue;
            mark_reached({static_cast<const std::byte*>(live[i].pointer), live[i].bytes}, live,
                         reached);
        }
    }
}

}  // namespace

CompiledKernels::CompiledKernels(const std::filesystem::path& folder) {
    std::error_code error;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder, error)) {
        if (file.path().extension() != ".ptx") continue;
        auto module = Module::read(file.path().string());
        if (!module) throw std::runtime_error(module.error().text());
        for (const std::string& entry : module->entries()) {
            code_.try_emplace(emulator::readable_kernel(entry), Code{*module, entry, std::nullopt});
        }
    }
    if (code_.empty()) {
        throw std::runtime_error(fmt::format(
            "{}: no .ptx file below it; build the target gs_cuda where nvcc is", folder.string()));
    }
}

Result<const Kernel*> CompiledKernels::find(const std::string& name) {
    const auto found = code_.find(name);
    if (found == code_.end()) return nullptr;
    Code& code = found->second;
    if (!code.kernel) {
        auto decoded = code.module.find(code.entry);
        if (!decoded) return tl::unexpected(decoded.error());
        code.kernel.emplace(std::move(*decoded));
    }
    return &*code.kernel;
}

std::optional<Memory> memory_of(const emulator::Launched& launched) {
    if (emulator::host_pointer_in(launched.parameters)) return std::nullopt;
    const auto live = emulator::live_allocations();
    std::vector<char> reached(live.size(), 0);
    mark_reached(launched.parameters, live, reached);
    Memory memory;
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (reached[i] == 0) continue;
        const std::span bytes(static_cast<const std::byte*>(live[i].pointer), live[i].bytes);
        memory.add({reinterpret_cast<std::uintptr_t>(live[i].pointer),
                    {bytes.begin(), bytes.end()},
                    written_in(bytes),
                    fmt::format("allocation of {} bytes", bytes.size())});
    }
    return memory;
}

}  // namespace gs::ptx
