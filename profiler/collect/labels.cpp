// Where a process stands in a job: from its environment as it was when the process began, and its
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
constexpr std::size_t kCommandBytes = 512;

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

/// Arguments are separated by zeros; cut in the middle of no character.
std::string command_line(std::uint32_t pid) {
    std::string text = file_of(pid, "cmdline");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (text.size() <= kCommandBytes) return text;
    return std::string(whole_characters(text, kCommandBytes)) + "…";
}

}  // namespace

ProcessLabels Connection::labels_from(std::string_view environment) {
    ProcessLabels out;
    out.job = variable(environment,
                       {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"});
    if (out.job == "none") out.job.clear();  // torchrun without --rdzv-id
    out.job_name = variable(
        environment, {"GAUSSCOPE_JOB", "SLURM_JOB_NAME", "PBS_JOBNAME", "LSB_JOBNAME", "JOB_NAME"});
    out.commit =
        variable(environment, {"GAUSSCOPE_COMMIT", "GIT_COMMIT", "CI_COMMIT_SHA", "GITHUB_SHA"});
    out.pod = variable(environment, {"POD_NAME", "K8S_POD_NAME"});
    if (out.pod.empty() && !variable(environment, {"KUBERNETES_SERVICE_HOST"}).empty())
        out.pod = variable(environment, {"HOSTNAME"});
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
    const std::string own = fmt::format("/proc/{}/", pid);
    if (out.commit.empty()) out.commit = commit_of(own + "cwd", own + "root");
    return out;
}

}  // namespace gs::service
