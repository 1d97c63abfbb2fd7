#include "app/cli/trace/unrecorded.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "app/cli/common.h"

namespace gs::cli {
namespace {

constexpr int kMostGenerations = 4;

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T& out) {
    file.seekg(static_cast<std::streamoff>(offset));
    return file.read(reinterpret_cast<char*>(&out), sizeof out).good();
}

fs::path find_program(const std::string& command) {
    if (command.find('/') != std::string::npos) return command;
    const char* path = std::getenv("PATH");
    for (const std::string& folder : split(path != nullptr ? path : "/bin:/usr/bin", ':'))
        if (const fs::path file = fs::path(folder) / command; file_exists(file)) return file;
    return {};
}

/// The number after `key` in /proc/PID/status; 0: none.
long status_number(const std::string& pid, std::string_view key) {
    std::ifstream file("/proc/" + pid + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) return std::strtol(line.c_str() + key.size(), nullptr, 10);
    return 0;
}

/// More than this process has: these come from the program, or from what started it.
bool has_more_filters(pid_t pid) {
    const std::string number = std::to_string(pid);
    const auto more = [&](std::string_view key) {
        return status_number(number, key) > status_number("self", key);
    };
    return more("Seccomp:") || more("Seccomp_filters:");
}

}  // namespace

bool is_static_program(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    ElfW(Ehdr) head{};
    if (!file || !read_at(file, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    const bool same_width =
        head.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32);
    if (!same_width || (head.e_type != ET_EXEC && head.e_type != ET_DYN)) return false;
    // The loader itself names none either: it has been started with the program as its argument.
    if (path.filename().string().starts_with("ld")) return false;
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        ElfW(Phdr) segment{};
        if (!read_at(file, head.e_phoff + std::uint64_t{i} * head.e_phentsize, segment))
            return false;
        if (segment.p_type == PT_INTERP) return false;
    }
    return head.e_phnum > 0;
}

Unrecorded::Unrecorded(const std::string& command) {
    const fs::path program = find_program(command);
    if (is_static_program(program)) static_.insert(program.filename().string());
}

void Unrecorded::look(pid_t pid) { look_at(pid, 0); }

void Unrecorded::look_at(pid_t pid, int depth) {
    const fs::path process = fmt::format("/proc/{}", pid);
    std::error_code error;
    const fs::path program = fs::read_symlink(process / "exe", error);
    if (!program.empty() && seen_.insert(program).second && is_static_program(process / "exe"))
        static_.insert(program.filename().string());
    if (has_more_filters(pid)) {
        std::string name;
        std::ifstream comm(process / "comm");
        std::getline(comm, name);
        filtered_.insert(name);
    }
    if (depth == kMostGenerations) return;
    std::ifstream children(process / "task" / std::to_string(pid) / "children");
    for (pid_t child = 0; children >> child;) look_at(child, depth + 1);
}

std::vector<std::string> Unrecorded::reasons() const {
    std::vector<std::string> out;
    if (!static_.empty())
        out.push_back(
            fmt::format("not recorded because it is statically linked: {}. The recording library "
                        "cannot start in such a program; link it dynamically",
                        fmt::join(static_, ", ")));
    if (!filtered_.empty())
        out.push_back(fmt::format(
            "not recorded because of a seccomp filter, which may end a program for a system call: "
            "{}. Where the filter answers with errors instead, GAUSSCOPE_SECCOMP=1 records",
            fmt::join(filtered_, ", ")));
    return out;
}

}  // namespace gs::cli
