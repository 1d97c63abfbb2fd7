// A process's place in a job: from its environment as it was when the process began, its control
// group, and its command line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
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

/// The first of `names` that has a value, "" when none has. torchrun without --rdzv-id writes
/// "none".
std::string_view variable(std::string_view environment,
                          std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        for (std::size_t at = 0; at < environment.size();) {
            const std::size_t end = std::min(environment.find('\0', at), environment.size());
            const std::string_view entry = environment.substr(at, end - at);
            if (entry.size() > name.size() + 1 && entry.starts_with(name) &&
                entry[name.size()] == '=' && entry.substr(name.size() + 1) != "none")
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

/// What the path of a control group says.
struct ControlGroup {
    std::string_view slurm_job;
    bool kubernetes = false;
};
ControlGroup control_group_in(std::string_view text) {
    ControlGroup out;
    // With the driver cgroupfs a process in a pod sees its path from there: "/../../podUID/ID".
    out.kubernetes = text.find("kubepods") != text.npos || text.find("/pod") != text.npos;
    if (std::size_t job = text.find("/job_"); job != text.npos) {
        job += std::string_view("/job_").size();
        out.slurm_job = text.substr(job, text.find_first_not_of("0123456789", job) - job);
    }
    return out;
}

/// The job of a pod, as controllers name pods: JOB-worker-0 (Kubeflow), JOB-node-0-0-x7k2p
/// (JobSet), JOB-5d4f8c9b7-x7k2p (Deployment), JOB-TASK-0 (Volcano, which names tasks freely).
/// A number that no controller explains is part of the name: sweep-1 and sweep-2 are two jobs.
std::string_view job_of_pod(std::string_view environment, std::string_view pod) {
    const bool volcano = !variable(environment, {"VC_TASK_INDEX", "VK_TASK_INDEX"}).empty();
    const std::string_view completion = variable(environment, {"JOB_COMPLETION_INDEX"});
    constexpr std::string_view kMadeUp = "bcdfghjklmnpqrstvwxz2456789", kDigits = "0123456789";
    const auto drop = [&](auto is_wanted) {
        const std::size_t dash = pod.rfind('-');
        const bool dropped = dash != pod.npos && dash > 0 && is_wanted(pod.substr(dash + 1));
        if (dropped) pod = pod.substr(0, dash);
        return dropped;
    };
    const auto is_made_up = [&](std::size_t least, std::size_t most) {
        return [=](std::string_view part) {
            return part.size() >= least && part.size() <= most &&
                   part.find_first_not_of(kMadeUp) == part.npos;
        };
    };
    const auto is_index = [&](std::string_view part) {
        return !part.empty() && part.find_first_not_of(kDigits) == part.npos;
    };
    const auto is_role = [&](std::string_view part) {
        constexpr std::string_view kRoles[] = {"master", "worker",  "workers", "launcher", "ps",
                                               "chief",  "trainer", "node",    "evaluator"};
        return volcano || std::find(std::begin(kRoles), std::end(kRoles), part) != std::end(kRoles);
    };
    const bool made_up = !volcano && drop(is_made_up(5, 5));
    if (made_up && !drop(is_made_up(8, 10)))
        drop([&](std::string_view part) { return part == completion; });
    const std::string_view named = pod;
    const bool numbered = drop(is_index);
    return (made_up || numbered) && drop(is_role) ? pod : named;
}

/// Of a pod whose job no variable names. All pods of a job know its first by the same address:
/// JOB-node-0-0.JOB, JOB-master-0. Elsewhere the address may be a node's.
std::string job_in_kubernetes(std::string_view environment, std::string_view pod) {
    const std::string_view master = variable(environment, {"MASTER_ADDR", "PET_MASTER_ADDR"});
    std::string job;
    if (const std::size_t dot = master.find('.'); dot != master.npos) {
        const std::string_view rest = master.substr(dot + 1);
        job = rest.substr(0, rest.find('.'));
        if (!master.starts_with(job + "-")) job.clear();
    } else {
        job = job_of_pod(environment, master);
    }
    const bool common = !job.empty() && pod.starts_with(job + "-");
    return common ? job : std::string(job_of_pod(environment, pod));
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

ProcessLabels Connection::labels_from(std::string_view environment,
                                      std::string_view control_groups) {
    ProcessLabels out;
    const auto text = [&](std::initializer_list<std::string_view> names) {
        return label_text(variable(environment, names));
    };
    const ControlGroup group = control_group_in(control_groups);
    out.name_space = text({"POD_NAMESPACE", "K8S_NAMESPACE", "K8S_POD_NAMESPACE"});
    out.node = text({"NODE_NAME", "K8S_NODE_NAME", "SLURMD_NODENAME"});
    out.pod = text({"POD_NAME", "K8S_POD_NAME"});
    const bool kubernetes =
        group.kubernetes || !variable(environment, {"KUBERNETES_SERVICE_HOST"}).empty();
    if (out.pod.empty() && kubernetes) {
        out.pod = text({"HOSTNAME"});
        // A pod in its node's network has the node's name.
        const auto first = [](std::string_view name) { return name.substr(0, name.find('.')); };
        if (first(out.pod) == first(out.node)) out.pod.clear();
    }
    // A scheduler's number first: the jobs of a sweep may share a name.
    out.job = text({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"});
    if (out.job.empty()) out.job = group.slurm_job;
    if (out.job.empty())
        out.job = text({"GAUSSCOPE_JOB", "JOBSET_NAME", "PET_RDZV_ID", "TORCHELASTIC_RUN_ID"});
    out.job_name = text({"GAUSSCOPE_JOB", "SLURM_JOB_NAME", "PBS_JOBNAME", "LSB_JOBNAME",
                         "JOB_NAME", "JOBSET_NAME"});
    if (out.job.empty() && !out.pod.empty()) {
        out.job = label_text(job_in_kubernetes(environment, out.pod));
        if (out.job_name.empty()) out.job_name = out.job;
    }
    out.commit = text({"GAUSSCOPE_COMMIT", "GIT_COMMIT", "CI_COMMIT_SHA", "GITHUB_SHA"});
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
    std::string environment = file_of(pid, "environ");
    const std::string groups = file_of(pid, "cgroup");
    if (const char* node = std::getenv("NODE_NAME"))  // of the daemon's pod
        environment += '\0' + (std::string("NODE_NAME=") + node);
    ProcessLabels out = labels_from(environment, groups);
    out.host = host_name();
    out.command = command_line(pid);
    return out;
}

}  // namespace gs::service
