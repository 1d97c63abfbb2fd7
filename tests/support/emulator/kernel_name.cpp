#include "tests/support/emulator/kernel_name.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace gs::emulator {
namespace {

void remove_all(std::string& text, std::string_view part) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
        text.erase(at, part.size());
}

std::uintptr_t load_address() {
    std::uintptr_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
            return 1;  // the program comes first
        },
        &base);
    return base;
}

/// Functions of this program by address. Kernels are in unnamed namespaces, which the dynamic
/// loader does not know: the file's own symbol table has them.
class OwnSymbols {
  public:
    OwnSymbols() {
        const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        struct stat about {};
        if (file >= 0 && fstat(file, &about) == 0) {
            const auto bytes = static_cast<std::size_t>(about.st_size);
            void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
            if (at != MAP_FAILED) {
                read(static_cast<const std::byte*>(at));
                munmap(at, bytes);
            }
        }
        if (file >= 0) close(file);
    }
    std::string name(const void* function) const {
        const auto found = names_.find(reinterpret_cast<std::uintptr_t>(function));
        return found == names_.end() ? "" : found->second;
    }

  private:
    void read(const std::byte* file) {
        const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(file);
        const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(file + header.e_shoff);
        const std::uintptr_t base = load_address();
        for (int i = 0; i < header.e_shnum; ++i) {
            if (sections[i].sh_type != SHT_SYMTAB) continue;
            const auto* const symbols =
                reinterpret_cast<const Elf64_Sym*>(file + sections[i].sh_offset);
            const char* const text =
                reinterpret_cast<const char*>(file + sections[sections[i].sh_link].sh_offset);
            const std::size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
            for (std::size_t k = 0; k < count; ++k)
                if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC && symbols[k].st_value != 0 &&
                    std::string_view(text + symbols[k].st_name).starts_with("_ZN2gs4cuda"))
                    names_.try_emplace(base + symbols[k].st_value, text + symbols[k].st_name);
        }
    }
    std::unordered_map<std::uintptr_t, std::string> names_;
};

}  // namespace

std::string readable_kernel(const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || !plain) return mangled;
    std::string name = plain.get();
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {  // the parameters: the last balanced parentheses
        depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
        if (depth == 0) {
            name.resize(i);
            break;
        }
    }
    if (name.starts_with("void ")) name.erase(0, 5);
    for (const char* const part : {"gs::cuda::", "gs::", "(anonymous namespace)::"})
        remove_all(name, part);
    return name;
}

const std::string& kernel_name(const void* function) {
    static std::mutex mutex;
    static const OwnSymbols symbols;
    static std::unordered_map<const void*, std::string> names;
    const std::lock_guard<std::mutex> guard(mutex);
    const auto [found, added] = names.try_emplace(function);
    if (added) found->second = readable_kernel(symbols.name(function));
    return found->second;
}

}  // namespace gs::emulator
