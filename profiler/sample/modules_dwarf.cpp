#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiler/sample/modules.h"

namespace gs::sample {
namespace {

constexpr std::size_t kMostAddresses = 256;

/// The functions of a file, without their names: those are read when asked for. What was asked for
/// once is known for all processes, each of which has a sampler's thread.
struct Symbols {
    struct Function {
        std::uint64_t begin, size;  ///< as the file counts addresses
        int index;
    };
    std::vector<Function> all;  ///< in order of begin

    Symbols(Dwfl_Module* module, GElf_Addr bias) {
        const int count = dwfl_module_getsymtab(module);
        for (int i = 1; i < count; ++i) {
            GElf_Sym symbol;
            GElf_Addr address = 0;
            if (dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr) ==
                nullptr)
                continue;
            const int type = GELF_ST_TYPE(symbol.st_info);
            if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
                continue;
            all.push_back({address - bias, symbol.st_size, i});
        }
        std::ranges::sort(all, [](const Function& a, const Function& b) {
            return std::tie(a.begin, a.size) < std::tie(b.begin, b.size);
        });
    }
    /// Of the symbols there; one without a size reaches to the next. -1: none.
    int at(std::uint64_t address) const {
        auto next = std::ranges::upper_bound(all, address, {}, &Function::begin);
        if (next == all.begin()) return -1;
        const Function& f = *(next - 1);
        return f.size == 0 || address - f.begin < f.size ? f.index : -1;
    }
    bool knows(std::uint64_t address, FrameEvent& out) const {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(address);
        if (found == known_.end()) return false;
        out = found->second;
        return true;
    }
    void keep(std::uint64_t address, const FrameEvent& frame) const {
        constexpr std::size_t kMost = 1 << 16;
        const std::lock_guard lock(mutex_);
        if (known_.size() >= kMost) known_.clear();
        known_.try_emplace(address, frame);
    }

  private:
    mutable std::mutex mutex_;
    mutable std::unordered_map<std::uint64_t, FrameEvent> known_;
};

/// The vDSO is in no file, and is the same in every process.
int open_vdso() {
    const auto* const image = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
    if (image == nullptr) return -1;
    const int fd = ::memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && ::write(fd, image, 2 * 4096) != 2 * 4096) {
        ::close(fd);
        return -1;
    }
    return fd;
}

int open_file(std::uint32_t pid, const std::string& path) {
    if (path == "[vdso]") return open_vdso();
    if (path.empty() || path[0] != '/') return -1;
    // As the process sees it, which may be in a container; one that has ended has no view any more.
    // What lies there now may be a pipe: it is not waited for.
    constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    int fd = ::open(fmt::format("/proc/{}/root{}", pid, path).c_str(), kFlags);
    if (fd < 0) fd = ::open(path.c_str(), kFlags);
    struct stat status {};
    if (fd < 0 || (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))) return fd;
    ::close(fd);
    return -1;
}

/// By how much addresses in memory are above those in the file.
std::optional<std::uint64_t> bias_of(int fd, const CodeMapping& mapping) {
    Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
    std::size_t count = 0;
    std::optional<std::uint64_t> out;
    GElf_Ehdr header;
    const bool runs = elf != nullptr && gelf_getehdr(elf, &header) != nullptr &&
                      (header.e_type == ET_EXEC || header.e_type == ET_DYN);
    if (runs && elf_getphdrnum(elf, &count) == 0)
        for (std::size_t i = 0; i < count && !out; ++i) {
            GElf_Phdr p;
            if (gelf_getphdr(elf, static_cast<int>(i), &p) == nullptr || p.p_type != PT_LOAD ||
                (p.p_flags & PF_X) == 0)
                continue;
            if (mapping.offset + mapping.length <= p.p_offset ||
                p.p_offset + p.p_filesz <= mapping.offset)
                continue;
            out = mapping.address - mapping.offset - (p.p_vaddr - p.p_offset);
        }
    elf_end(elf);
    return out;
}

/// What the unwinder reads from: the sample it is at.
struct Reading {
    const PerfRecord* sample = nullptr;
    Elf* code = nullptr;
};

pid_t only_thread(Dwfl*, void* reading, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = reading;
    return 1;
}

bool that_thread(Dwfl*, pid_t, void* reading, void** thread) {
    *thread = reading;
    return true;
}

bool read_stack(Dwfl*, Dwarf_Addr address, Dwarf_Word* out, void* reading) {
    const PerfRecord& s = *static_cast<const Reading*>(reading)->sample;
    const std::uint64_t at = address - s.registers.value[UserRegisters::kStackPointer];
    if (at + sizeof *out > s.stack.size() || at > s.stack.size()) return false;
    std::memcpy(out, s.stack.data() + at, sizeof *out);
    return true;
}

bool set_registers(Dwfl_Thread* thread, void* reading) {
    const UserRegisters& r = static_cast<const Reading*>(reading)->sample->registers;
    const Dwarf_Word counter = r.value[UserRegisters::kProgramCounter];
    dwfl_thread_state_register_pc(thread, counter);
    return dwfl_thread_state_registers(thread, 0, UserRegisters::kCount, r.value.data());
}

int take_frame(Dwfl_Frame* frame, void* out) {
    auto& addresses = *static_cast<std::vector<std::uint64_t>*>(out);
    Dwarf_Addr address = 0;
    if (!dwfl_frame_pc(frame, &address, nullptr) || address == 0) return DWARF_CB_ABORT;
    addresses.push_back(address);
    return addresses.size() < kMostAddresses ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int no_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

constexpr Dwfl_Thread_Callbacks kThread{only_thread,   that_thread, read_stack,
                                        set_registers, nullptr,     nullptr};
// Debug information that is installed; none is fetched over a network while a program is watched.
constexpr Dwfl_Callbacks kFiles{no_file, dwfl_build_id_find_debuginfo, nullptr, nullptr};

void find_line(Dwfl_Module* module, std::uint64_t address, FrameEvent& out) {
    Dwfl_Line* const line = dwfl_module_getsrc(module, address);
    int number = 0;
    const char* const source =
        line != nullptr ? dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr)
                        : nullptr;
    if (source == nullptr) return;
    out.file = source;
    out.line = static_cast<std::uint32_t>(std::max(number, 0));
}

}  // namespace

class SymbolFiles {
  public:
    /// By the file's identity: one that was replaced has another.
    std::shared_ptr<const Symbols> of(Dwfl_Module* module, int fd) {
        struct stat s {};
        if (::fstat(fd, &s) != 0) return nullptr;
        const std::lock_guard lock(mutex_);
        constexpr std::size_t kMany = 1024;
        if (files_.size() >= kMany)
            std::erase_if(files_, [](const auto& file) { return file.second.use_count() <= 1; });
        auto& known = files_[{s.st_dev, s.st_ino, s.st_mtim.tv_sec, s.st_size}];
        GElf_Addr bias = 0;
        if (known == nullptr && dwfl_module_getelf(module, &bias) != nullptr)
            known = std::make_shared<Symbols>(module, bias);
        return known;
    }

  private:
    std::mutex mutex_;
    std::map<std::tuple<dev_t, ino_t, time_t, off_t>, std::shared_ptr<const Symbols>> files_;
};

bool has_unwinder() { return true; }
std::shared_ptr<SymbolFiles> make_symbol_files() { return std::make_shared<SymbolFiles>(); }

struct ProcessImage::Modules::State {
    std::uint32_t pid = 0;
    std::shared_ptr<SymbolFiles> files;
    Reading reading;
    std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl{nullptr, &dwfl_end};
    bool attached = false;
    std::map<Dwfl_Module*, std::shared_ptr<const Symbols>> symbols;
    std::set<std::pair<std::string, std::uint64_t>> reported;  // path and bias

    void begin() {
        symbols.clear();
        reported.clear();
        attached = false;
        elf_version(EV_CURRENT);
        dwfl.reset(dwfl_begin(&kFiles));
    }
    const Symbols* symbols_of(Dwfl_Module* module) {
        const auto [place, added] = symbols.try_emplace(module);
        if (added) {
            const char* path = nullptr;
            dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &path, nullptr);
            const int fd = open_file(pid, path != nullptr ? path : "");
            place->second = files->of(module, fd);
            if (fd >= 0) ::close(fd);
        }
        return place->second.get();
    }
};

ProcessImage::Modules::Modules(std::uint32_t pid, std::shared_ptr<SymbolFiles> files)
    : state(std::make_unique<State>()) {
    state->pid = pid;
    state->files = std::move(files);
    state->begin();
}
ProcessImage::Modules::~Modules() = default;

void ProcessImage::Modules::forget() { state->begin(); }

void ProcessImage::Modules::add(const CodeMapping& mapping) {
    const int fd = open_file(state->pid, mapping.path);
    if (fd < 0) return;
    const auto bias = bias_of(fd, mapping);
    // A file with code in two places is there once: reported again, libdwfl lets go of the first.
    if (!bias || !state->reported.emplace(mapping.path, *bias).second) {
        ::close(fd);
        return;
    }
    dwfl_report_begin_add(state->dwfl.get());
    // It takes the descriptor.
    if (dwfl_report_elf(state->dwfl.get(), mapping.path.c_str(), mapping.path.c_str(), fd, *bias,
                        true) == nullptr)
        ::close(fd);
    dwfl_report_end(state->dwfl.get(), nullptr, nullptr);
}

std::vector<std::uint64_t> ProcessImage::Modules::unwind(const PerfRecord& sample) {
    std::vector<std::uint64_t> out;
    if (!sample.registers.known || sample.stack.empty()) return out;
    State& s = *state;
    s.reading.sample = &sample;
    const std::uint64_t counter = sample.registers.value[UserRegisters::kProgramCounter];
    if (!s.attached) {  // the first module with code says which machine's registers they are
        Dwfl_Module* const module = dwfl_addrmodule(s.dwfl.get(), counter);
        GElf_Addr bias = 0;
        Elf* const elf = module != nullptr ? dwfl_module_getelf(module, &bias) : nullptr;
        s.attached =
            elf != nullptr && dwfl_attach_state(s.dwfl.get(), elf, 1, &kThread, &s.reading);
    }
    if (s.attached) dwfl_getthread_frames(s.dwfl.get(), 1, take_frame, &out);
    return out;
}

void ProcessImage::Modules::describe(std::uint64_t address, FrameEvent& out) {
    Dwfl_Module* const module = dwfl_addrmodule(state->dwfl.get(), address);
    GElf_Addr bias = 0;
    if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return;
    const Symbols* const symbols = state->symbols_of(module);
    if (symbols != nullptr && symbols->knows(address - bias, out)) return;
    if (symbols != nullptr)
        if (const int index = symbols->at(address - bias); index >= 0) {
            GElf_Sym symbol;
            const char* const name = dwfl_module_getsym(module, index, &symbol, nullptr);
            if (name != nullptr) out.function = name;
        }
    find_line(module, address, out);
    if (symbols != nullptr) symbols->keep(address - bias, out);
}

std::uint64_t ProcessImage::Modules::address_of(const CodeMapping& mapping, const char* name) {
    Dwfl_Module* const module = dwfl_addrmodule(state->dwfl.get(), mapping.address);
    const int count = module != nullptr ? dwfl_module_getsymtab(module) : 0;
    for (int i = 1; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        const char* const is =
            dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
        if (is != nullptr && symbol.st_shndx != SHN_UNDEF && std::strcmp(is, name) == 0)
            return address;
    }
    return 0;
}

}  // namespace gs::sample
