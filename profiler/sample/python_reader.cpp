#include "profiler/sample/python_reader.h"

#include <errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace gs::sample {
namespace {

constexpr std::size_t kMostFrames = 256, kMostThreads = 4096, kMostText = 512;
constexpr std::size_t kMostCodes = 65536, kMostCodeBytes = 64 << 20, kFrameBytes = 128;

bool read_memory(std::uint32_t pid, std::uint64_t address, void* out, std::size_t bytes) {
    iovec to{out, bytes}, from{reinterpret_cast<void*>(address), bytes};
    return ::process_vm_readv(static_cast<pid_t>(pid), &to, 1, &from, 1, 0) ==
           static_cast<ssize_t>(bytes);
}

template <class T>
T part_of(const unsigned char* bytes, std::uint64_t offset) {
    T out{};
    std::memcpy(&out, bytes + offset, sizeof out);
    return out;
}

}  // namespace

std::uint32_t python_version_in(const std::string& path) {
    const std::size_t name = path.rfind('/') + 1;  // not a folder's: extensions are in "python3.11"
    const std::size_t at = path.find("python3.", name);
    std::uint32_t minor = 0;
    if (at == path.npos) return 0;
    std::from_chars(path.data() + at + 8, path.data() + path.size(), minor);
    return minor > 0 && minor < 256 ? 0x0300 + minor : 0;
}

namespace {

/// What 3.13 and later say of themselves at the beginning of _PyRuntime.
std::optional<PythonLayout> own_layout(std::uint32_t pid, std::uint64_t runtime) {
    std::uint64_t word[64] = {};
    if (!read_memory(pid, runtime, word, sizeof word) || std::memcmp(word, "xdebugpy", 8) != 0 ||
        word[1] >> 16 != 0x030d ||  // later ones order them otherwise
        word[2] != 0)               // without the GIL objects begin otherwise
        return {};
    // The cookie, version, free_threaded; then structs: runtime (3), interpreter (13), thread (9),
    // frame (6), code (10).
    constexpr std::size_t kRuntime = 3, kInterpreter = 6, kThread = 19, kFrame = 28, kCode = 34;
    PythonLayout out{.interpreters = word[kRuntime + 2],
                     .next_interpreter = word[kInterpreter + 2],
                     .threads = word[kInterpreter + 3],
                     .next_thread = word[kThread + 2],
                     .native_id = word[kThread + 6],
                     .frame = word[kThread + 4],
                     .previous = word[kFrame + 1],
                     .code = word[kFrame + 2],
                     .instruction = word[kFrame + 3],
                     .entry = word[kFrame + 5],
                     .file = word[kCode + 1],
                     .name = word[kCode + 3],
                     .lines = word[kCode + 4],
                     .first_line = word[kCode + 5],
                     .text = 40,
                     .bytecode = word[kCode + 9]};
    const auto inside = [](std::uint64_t offset) { return offset + 8 <= kFrameBytes; };
    if (!inside(out.previous) || !inside(out.code) || !inside(out.instruction) ||
        !inside(out.entry) || std::max({out.file, out.name, out.lines, out.first_line}) > 192)
        return {};
    return out;
}

/// Of a variable length: six bits a byte, the lowest first.
std::uint32_t varint(const std::string& table, std::size_t& at) {
    std::uint32_t out = 0;
    for (unsigned shift = 0; at < table.size() && shift < 32; shift += 6) {
        const auto byte = static_cast<unsigned char>(table[at++]);
        out |= static_cast<std::uint32_t>(byte & 63) << shift;
        if ((byte & 64) == 0) break;
    }
    return out;
}

std::int32_t signed_varint(const std::string& table, std::size_t& at) {
    const std::uint32_t value = varint(table, at);
    const auto half = static_cast<std::int32_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
}

/// PEP 657: an entry for some instructions, its first byte has the top bit.
std::uint32_t line_by_locations(const std::string& table, std::uint32_t first, std::int64_t byte) {
    std::int64_t line = first, here = 0, found = 0;
    for (std::size_t at = 0; at < table.size() && here <= byte;) {
        const auto head = static_cast<unsigned char>(table[at++]);
        const unsigned kind = head >> 3 & 15;
        here += 2 * ((head & 7) + 1);
        if (kind == 14 || kind == 13)
            line += signed_varint(table, at);
        else if (kind >= 10 && kind <= 12)
            line += kind - 10;
        found = kind == 15 ? found : line;
        while (at < table.size() && (static_cast<unsigned char>(table[at]) & 128) == 0) ++at;
    }
    return static_cast<std::uint32_t>(std::max<std::int64_t>(found, 0));
}

}  // namespace

std::uint32_t python_line(const std::string& table, PythonLayout::Lines kind,
                          std::uint32_t first_line, std::int64_t byte) {
    if (kind == PythonLayout::Lines::locations) return line_by_locations(table, first_line, byte);
    std::int64_t line = first_line, here = 0;
    for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
        const auto bytes = static_cast<unsigned char>(table[at]);
        const auto lines = static_cast<signed char>(table[at + 1]);
        if (kind == PythonLayout::Lines::pairs_3_9) {  // a line begins where its pair says
            here += bytes;
            if (here > byte) break;
            line += lines;
        } else {  // PEP 626: a pair for a stretch; -128: one without a line
            if (lines != -128) line += lines;
            here += bytes;
            if (here > byte) break;
        }
    }
    return static_cast<std::uint32_t>(std::max<std::int64_t>(line, 0));
}

std::string python_text(const std::string& characters, std::size_t kind, bool ascii) {
    std::string out;
    for (std::size_t i = 0; i < characters.size(); i += kind) {
        std::uint32_t c = 0;
        std::memcpy(&c, characters.data() + i, kind);
        const bool is_surrogate = c >= 0xD800 && c < 0xE000;
        if (c < 0x20 || c == 0x7F || is_surrogate || c > 0x10FFFF || (ascii && c > 0x7F)) return {};
        if (c < 0x80) {
            out += static_cast<char>(c);
            continue;
        }
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        constexpr unsigned kHead[] = {0, 0xC0, 0xE0, 0xF0};
        out += static_cast<char>(kHead[more] | c >> (6 * more));
        for (int m = more - 1; m >= 0; --m) out += static_cast<char>(0x80 | (c >> (6 * m) & 63));
    }
    return out;
}

std::unique_ptr<PythonReader> PythonReader::find(std::uint32_t pid, ProcessImage& image,
                                                 std::string& why) {
    for (const CodeMapping& mapping : image.mappings()) {
        const std::uint32_t named = python_version_in(mapping.path);
        if (named == 0) continue;
        const std::uint64_t runtime = image.address_of(mapping, "_PyRuntime");
        if (runtime == 0) continue;
        std::uint64_t probe = 0;
        errno = 0;
        if (!read_memory(pid, runtime, &probe, sizeof probe)) {
            if (errno == EPERM)
                why =
                    "its memory cannot be read: no Python functions (kernel.yama.ptrace_scope; "
                    "`gausscope record` may)";
            return nullptr;
        }
        auto layout = own_layout(pid, runtime);
        if (!layout) layout = python_layout(named);
        if (!layout) {
            why = fmt::format("Python 3.{} is not supported: no Python functions", named & 255);
            return nullptr;
        }
        std::unique_ptr<PythonReader> out(new PythonReader(pid, runtime, *layout));
        return out->pointer(runtime + layout->interpreters) != 0 ? std::move(out) : nullptr;
    }
    return nullptr;
}

bool PythonReader::read(std::uint64_t address, void* out, std::size_t bytes) const {
    if (sample_ != nullptr && sample_->registers.known) {
        const std::uint64_t at = address - sample_->registers.value[UserRegisters::kStackPointer];
        if (at < sample_->stack.size() && bytes <= sample_->stack.size() - at) {
            std::memcpy(out, sample_->stack.data() + at, bytes);
            return true;
        }
    }
    return address != 0 && read_memory(pid_, address, out, bytes);
}

std::uint64_t PythonReader::pointer(std::uint64_t address) const {
    std::uint64_t out = 0;
    return read(address, &out, sizeof out) ? out : 0;
}

std::uint32_t PythonReader::thread_number(std::uint64_t state) const {
    if (layout_.native_id != 0)
        return static_cast<std::uint32_t>(pointer(state + layout_.native_id));
    // glibc's struct pthread on x86-64 has the kernel's number here, since 2.4.
    constexpr std::uint64_t kTid = 720;
    const std::uint64_t thread = pointer(state + layout_.pthread);
    return thread == 0 ? 0 : static_cast<std::uint32_t>(pointer(thread + kTid));
}

std::uint64_t PythonReader::state_of(std::uint32_t tid) {
    if (const auto known = states_.find(tid);
        known != states_.end() && thread_number(known->second) == tid)
        return known->second;
    states_.clear();
    std::size_t seen = 0;
    for (std::uint64_t interpreter = pointer(runtime_ + layout_.interpreters);
         interpreter != 0 && seen < kMostThreads;
         interpreter = pointer(interpreter + layout_.next_interpreter), ++seen)
        for (std::uint64_t state = pointer(interpreter + layout_.threads);
             state != 0 && seen < kMostThreads;
             state = pointer(state + layout_.next_thread), ++seen)
            if (const std::uint32_t number = thread_number(state); number != 0)
                states_.try_emplace(number, state);
    const auto found = states_.find(tid);
    return found == states_.end() ? 0 : found->second;
}

std::string PythonReader::text_at(std::uint64_t address) const {
    unsigned char head[40];  // reference count, type, length, hash, state
    if (!read(address, head, sizeof head)) return {};
    const auto length = std::min<std::size_t>(part_of<std::uint64_t>(head, 16), kMostText);
    const auto state = part_of<std::uint32_t>(head, 32);
    const unsigned kind = state >> 2 & 7;
    const bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
    if (!compact || (kind != 1 && kind != 2 && kind != 4)) return {};
    // Beside the characters are, when some are not ASCII, the UTF-8 form and lengths.
    const std::uint64_t begin = layout_.text + (ascii ? 0 : layout_.text == 48 ? 24 : 16);
    std::string raw(length * kind, '\0');
    if (!read(address + begin, raw.data(), raw.size())) return {};
    return python_text(raw, kind, ascii);
}

const PythonReader::Code* PythonReader::code_at(std::uint64_t address) {
    unsigned char head[208];
    if (!read(address, head, layout_.lines + 8)) return nullptr;
    const auto name = part_of<std::uint64_t>(head, layout_.name);
    const auto file = part_of<std::uint64_t>(head, layout_.file);
    const auto first = part_of<std::uint32_t>(head, layout_.first_line);
    if (codes_.size() > kMostCodes || code_bytes_ > kMostCodeBytes) codes_.clear(), code_bytes_ = 0;
    Code& code = codes_[address];
    if (code.name == name && code.file == file && code.first_line == first) return &code;
    code = {name, file, first, {}, {}};
    code.frame = {text_at(name), text_at(file), "python", first, FrameKind::python};
    const auto table = part_of<std::uint64_t>(head, layout_.lines);  // a bytes object
    constexpr std::uint64_t kSize = 16, kBytes = 32;
    code.lines.resize(std::min<std::uint64_t>(pointer(table + kSize), 1 << 20));
    if (!read(table + kBytes, code.lines.data(), code.lines.size())) code.lines.clear();
    code_bytes_ += code.lines.size();
    return &code;
}

std::uint32_t PythonReader::line_of(const Code& code, std::uint64_t address,
                                    const unsigned char* frame) const {
    std::int64_t byte = 0;
    if (layout_.bytecode != 0)
        byte = static_cast<std::int64_t>(part_of<std::uint64_t>(frame, layout_.instruction) -
                                         (address + layout_.bytecode));
    else
        byte = part_of<std::int32_t>(frame, layout_.instruction) *
               (layout_.line_kind == PythonLayout::Lines::pairs_3_10 ? 2 : 1);
    const std::uint32_t line =
        byte < 0 ? 0 : python_line(code.lines, layout_.line_kind, code.first_line, byte);
    return line != 0 ? line : code.first_line;
}

std::vector<PythonFrame> PythonReader::stack_of(const PerfRecord& sample) {
    sample_ = &sample;
    std::vector<PythonFrame> out;
    const std::uint64_t state = state_of(sample.tid);
    std::uint64_t at = state == 0 ? 0 : pointer(state + layout_.frame);
    if (layout_.through && at != 0) at = pointer(at + *layout_.through);
    unsigned char frame[kFrameBytes];
    const std::size_t bytes =
        std::max({layout_.previous, layout_.code, layout_.instruction, layout_.entry}) + 8;
    for (std::size_t steps = 0;
         at != 0 && steps < 2 * kMostFrames && out.size() < kMostFrames && read(at, frame, bytes);
         ++steps) {
        at = part_of<std::uint64_t>(frame, layout_.previous);
        const unsigned char mark = frame[layout_.entry];
        if (layout_.entry_kind == PythonLayout::Entry::shim && mark == 3) {
            if (!out.empty()) out.back().entry = true;
            continue;
        }
        const auto address = part_of<std::uint64_t>(frame, layout_.code);
        const Code* const code = code_at(address);
        if (code == nullptr || code->frame.function.empty()) break;
        PythonFrame& made = out.emplace_back();
        made.frame = code->frame;
        made.frame.line = line_of(*code, address, frame);
        made.entry = layout_.entry_kind == PythonLayout::Entry::every ||
                     (layout_.entry_kind == PythonLayout::Entry::flag && mark != 0);
    }
    sample_ = nullptr;
    return out;
}

}  // namespace gs::sample
