// A process's place in a job: from its environment as it was when the process began, and its
// command line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

#include "base/machine.h"
#include "base/record/utf8.h"
#include "profiler/collect/client.h"

namespace gs::service {
namespace {

constexpr std::uint64_t kMostBytes = 1u << 20;
constexpr std::size_t kCommandBytes = 512, kLabelBytes = 128;

/// The first of `names` that is set, "" when none is.
std::string_view variable(std::string_view environment,
                          std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        for (std::size_t at = 0; at < environment.size();) {
            const std::size_t end = std::min(environment.find('\0', at), environment.size());
            const std::string_view entry = environment.substr(at, end - at);
            if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
                return entry.substr(name.size() + 1);
            at = end + 1;
        }
    }
    return {};
}

int number_in(std::string_view text) {
    int value = -1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && rest == text.data() + text.size() && value >= 0 ? value : -1;
}

std::string file_of(std::uint32_t pid, const char* name) {
    // Its size is not known before it is read, which read_text_file() needs to know.
    std::string out;
    std::FILE* file = std::fopen(fmt::format("/proc/{}/{}", pid, name).c_str(), "re");
    if (file == nullptr) return out;
    char part[4096];
    while (out.size() < kMostBytes) {
        const std::size_t bytes = std::fread(part, 1, sizeof part, file);
        if (bytes == 0) break;
        out.append(part, bytes);
    }
    std::fclose(file);
    return out;
}

/// Length of the character of UTF-8 that `text` begins with; 0: it begins with none.
std::size_t character_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t bytes = first < 0xC2   ? 0
                              : first < 0xE0 ? 2
                              : first < 0xF0 ? 3
                              : first < 0xF5 ? 4
                                             : 0;
    if (bytes == 0 || text.size() < bytes) return 0;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    // Longer than need be, halves of pairs, and beyond the last.
    const unsigned second = byte(1);
    const bool none = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return none ? 0 : bytes;
}

/// What another program wrote, as readers of metrics and traces take it: UTF-8 in one line, cut in
/// the middle of no character.
std::string label_text(std::string_view text, std::size_t most = kLabelBytes) {
    const bool cut = text.size() > most;
    text = whole_characters(text, most);
    std::string out;
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        const bool control = bytes == 1 && static_cast<unsigned char>(text[0]) < 0x20;
        out += bytes == 0 ? "?" : control ? " " : text.substr(0, bytes);
        text.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    return cut ? out + "…" : out;
}

/// Arguments are separated by zeros.
std::string command_line(std::uint32_t pid) {
    std::string text = file_of(pid, "cmdline");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return label_text(text, kCommandBytes);
}

}  // namespace

ProcessLabels Connection::labels_from(std::string_view environment) {
    ProcessLabels out;
    const auto text = [&](std::initializer_list<std::string_view> names) {
        return label_text(variable(environment, names));
    };
    out.job = text({"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"});
    if (out.job == "none") out.job.clear();  // torchrun without --rdzv-id
    out.job_name =
        text({"GAUSSCOPE_JOB", "SLURM_JOB_NAME", "PBS_JOBNAME", "LSB_JOBNAME", "JOB_NAME"});
    out.commit = text({"GAUSSCOPE_COMMIT", "GIT_COMMIT", "CI_COMMIT_SHA", "GITHUB_SHA"});
    out.pod = text({"POD_NAME", "K8S_POD_NAME"});
    if (out.pod.empty() && !variable(environment, {"KUBERNETES_SERVICE_HOST"}).empty())
        out.pod = text({"HOSTNAME"});
    out.rank = number_in(
        variable(environment, {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}));
    out.local_rank = number_in(variable(environment, {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                                      "MPI_LOCALRANKID", "SLURM_LOCALID"}));
    out.world_size = number_in(
        variable(environment, {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}));
    return out;
}

ProcessLabels Connection::labels_of(std::uint32_t pid) {
    if (pid == 0) return {};
    ProcessLabels out = labels_from(file_of(pid, "environ"));
    out.host = host_name();
    out.command = command_line(pid);
    return out;
}

}  // namespace gs::service
