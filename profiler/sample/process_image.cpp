#include "profiler/sample/process_image.h"

#include <algorithm>
#include <sstream>

#include "profiler/sample/modules.h"
#include "profiler/store/symbol.h"

namespace gs::sample {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// "55d0c000-55d10000 r-xp 00002000 08:01 1234   /usr/bin/python3.11", where it is code.
bool read_line(const std::string& line, CodeMapping& out) {
    std::istringstream in(line);
    std::string rights, device, number;
    std::uint64_t end = 0;
    char dash = 0;
    in >> std::hex >> out.address >> dash >> end >> rights >> out.offset >> device >> number;
    if (!in || end <= out.address || rights.size() < 3 || rights[2] != 'x') return false;
    out.length = end - out.address;
    if (!std::getline(in >> std::ws, out.path)) out.path = "//anon";  // as the kernel's records say
    return true;
}

}  // namespace

ProcessImage::ProcessImage(std::uint32_t pid, std::shared_ptr<SymbolFiles> files)
    : pid_(pid), modules_(std::make_unique<Modules>(pid, std::move(files))) {}
ProcessImage::~ProcessImage() = default;

void ProcessImage::map(CodeMapping mapping) {
    const auto overlaps = [&](const CodeMapping& m) {
        return m.address < mapping.address + mapping.length &&
               mapping.address < m.address + m.length;
    };
    if (std::ranges::find(mappings_, mapping) != mappings_.end()) return;
    const bool replaces = std::ranges::any_of(mappings_, overlaps);
    if (replaces) {
        std::erase_if(mappings_, overlaps);
        frames_.clear();
        modules_->forget();
        unread_ = mappings_;
    }
    unread_.push_back(mapping);
    const auto place =
        std::ranges::lower_bound(mappings_, mapping.address, {}, &CodeMapping::address);
    mappings_.insert(place, std::move(mapping));
}

void ProcessImage::map_all() {
    std::ifstream file(fmt::format("/proc/{}/maps", pid_));
    for (std::string line; std::getline(file, line);)
        if (CodeMapping mapping; read_line(line, mapping)) map(std::move(mapping));
}

void ProcessImage::load() {
    for (const CodeMapping& mapping : unread_) modules_->add(mapping);
    unread_.clear();
}

const CodeMapping* ProcessImage::mapping_at(std::uint64_t address) const {
    const auto next = std::ranges::upper_bound(mappings_, address, {}, &CodeMapping::address);
    if (next == mappings_.begin()) return nullptr;
    const CodeMapping& found = *(next - 1);
    return address - found.address < found.length ? &found : nullptr;
}

std::vector<std::uint64_t> ProcessImage::unwind(const PerfRecord& sample) {
    load();
    std::vector<std::uint64_t> out = modules_->unwind(sample);
    if (out.size() < sample.addresses.size() && out.size() < 2) out = sample.addresses;
    if (out.empty() && sample.registers.known)
        out.push_back(sample.registers.value[UserRegisters::kProgramCounter]);
    return out;
}

const FrameEvent& ProcessImage::frame_at(std::uint64_t address, bool caller) {
    const std::uint64_t at = address - (caller && address > 0 ? 1 : 0);
    constexpr std::size_t kMostFrames = 1 << 16;
    if (frames_.size() >= kMostFrames) frames_.clear();
    const auto [place, added] = frames_.try_emplace(at);
    FrameEvent& frame = place->second;
    if (!added) return frame;
    load();
    const CodeMapping* const mapping = mapping_at(at);
    if (mapping == nullptr) {
        frame.function.assign(1, '?');  // code that was made at run time, or is gone
        return frame;
    }
    frame.module = file_name(mapping->path);
    modules_->describe(at, frame);
    frame.function = frame.function.empty() ? fmt::format("{}+{:#x}", frame.module,
                                                          at - mapping->address + mapping->offset)
                                            : readable_symbol(frame.function);
    return frame;
}

std::uint64_t ProcessImage::address_of(const CodeMapping& mapping, const char* symbol) {
    load();
    return modules_->address_of(mapping, symbol);
}

}  // namespace gs::sample
