// `gausscope trigger HOSTS`: asks the daemons of all nodes of a job for the same stretch of time,
// fetches their recordings and merges them into one trace on one clock.
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/options.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/cli/trace/trace_export.h"
#include "app/cli/trace/trace_report.h"
#include "base/json_text.h"
#include "base/record/clock.h"
#include "base/text.h"
#include "base/try.h"
#include "profiler/collect/client.h"
#include "profiler/files/import_ranks.h"
#include "profiler/serve/http_call.h"

namespace gs::cli {
namespace {

struct TriggerArguments {
    std::vector<std::string> hosts;
    std::string slurm, token_file, output;
    std::optional<double> last_s;
    double seconds = 5;
    int port = 9465;
};

void add_options(CLI::App& app, TriggerArguments& a) {
    app.add_option("HOSTS", a.hosts,
                   "nodes that run `gausscope serve`: names or addresses, each with :PORT where "
                   "needed; gpu[01-16] is sixteen");
    add_value(app, "--slurm JOB", a.slurm, "the nodes of this Slurm job, as squeue lists them");
    add_value(app, "--seconds S", a.seconds, number_from(0.1, 600),
              "record the next S seconds, from the same moment on every node [5]");
    add_value(app, "--last S", a.last_s, number_from(0.1, 600), "save the past S seconds instead");
    add_value(app, "--port PORT", a.port, whole_from(1, 65535), "port of the daemons [9465]");
    add_value(app, "--token-file FILE", a.token_file,
              "file with the daemons' token [that of this user's daemon]");
    add_value(app, "-o,--output FILE", a.output,
              "the merged trace [trigger-DATE.pftrace]; other endings as with `trace --export`");
}

/// One node, and what became of it.
struct Node {
    std::string name, address;
    std::string trace, trouble;  ///< the recording's name there; why there is none here
    fs::path file;               ///< where it is here
};

/// "gpu[01-03,7]x" -> gpu01x gpu02x gpu03x gpu7x, as Slurm writes lists of hosts.
Result<void> expand(const std::string& text, std::vector<std::string>& out) {
    constexpr std::size_t kMost = 10'000;
    const std::size_t open = text.find('['), close = text.find(']', open);
    if (open == text.npos || close == text.npos) {
        if (!text.empty()) out.push_back(text);
        return {};
    }
    for (const std::string& range : split(text.substr(open + 1, close - open - 1), ',')) {
        const std::vector<std::string> ends = split(range, '-');
        const auto is_number = [](const std::string& end) {
            return !end.empty() && end.size() < 9 &&
                   end.find_first_not_of("0123456789") == end.npos;
        };
        if (ends.empty() || ends.size() > 2 || !std::ranges::all_of(ends, is_number) ||
            std::stoul(ends.back()) - std::stoul(ends.front()) >= kMost)
            return fail(ErrorKind::usage, text, "is not a list of hosts", "like gpu[01-16]");
        for (auto n = std::stoul(ends.front()); n <= std::stoul(ends.back()); ++n)
            GS_TRY_VOID(expand(fmt::format("{}{:0{}}{}", text.substr(0, open), n,
                                           ends.front().size(), text.substr(close + 1)),
                               out));
    }
    return {};
}

/// Commas outside of brackets separate.
Result<std::vector<std::string>> hosts_in(const std::string& list) {
    std::vector<std::string> out;
    std::string one;
    int depth = 0;
    for (const char c : list + ",") {
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c != ',' || depth != 0) {
            one += c;
            continue;
        }
        GS_TRY_VOID(expand(std::exchange(one, {}), out));
    }
    return out;
}

Result<std::string> hosts_of_slurm_job(const std::string& job) {
    const auto is_plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+';
    };
    if (!std::ranges::all_of(job, is_plain))
        return fail(ErrorKind::usage, job, "is not the number of a Slurm job");
    std::string text;
    if (std::FILE* pipe = ::popen(fmt::format("squeue -h -j {} -o %N", job).c_str(), "re")) {
        char part[4096];
        while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
        ::pclose(pipe);
    }
    // A line for each element of an array or part of a job; empty ones wait for their nodes.
    std::ranges::replace(text, '\n', ',');
    if (text.find_first_not_of(',') == text.npos)
        return fail(ErrorKind::usage, job, "squeue lists no node of this job",
                    "give the nodes instead: gausscope trigger gpu[01-16]");
    return text;
}

Result<std::vector<Node>> nodes_of(const TriggerArguments& a) {
    std::string list = fmt::format("{}", fmt::join(a.hosts, ","));
    if (!a.slurm.empty()) {
        GS_TRY(const std::string of_job, hosts_of_slurm_job(a.slurm));
        list += "," + of_job;
    }
    GS_TRY(const std::vector<std::string> hosts, hosts_in(list));
    if (hosts.empty())
        return fail(ErrorKind::usage, "", "no hosts are given", "gausscope trigger gpu[01-16]");
    std::vector<Node> out;
    for (const std::string& host : hosts) {
        std::string address = host.find("://") == host.npos ? "http://" + host : host;
        if (address.find(':', address.find("://") + 3) == address.npos)
            address += fmt::format(":{}", a.port);
        const auto is_same = [&](const Node& node) { return node.address == address; };
        if (std::ranges::none_of(out, is_same)) out.push_back({host, address, {}, {}, {}});
    }
    return out;
}

Result<std::string> token_in(const std::string& file) {
    fs::path path = file;
    if (file.empty()) {
        GS_TRY(path, service::runtime_directory());
        path /= "serve.token";
    }
    GS_TRY(std::string token, read_text_file(path, 4096));
    while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0)
        token.pop_back();
    return token;
}

/// `work` for each node that has had no trouble, several at once.
template <class Work>
void for_each_node(std::vector<Node>& nodes, Work work) {
    constexpr std::size_t kThreads = 64;
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kThreads, nodes.size()); ++i)
        threads.emplace_back([&] {
            for (std::size_t n = next++; n < nodes.size(); n = next++)
                if (nodes[n].trouble.empty()) work(nodes[n]);
        });
}

/// To a node itself: the token is for no proxy.
serve::HttpCall call_to(const std::string& url, const std::string& token) {
    return {.url = url,
            .headers = {{"Authorization", "Bearer " + token}},
            .to_connect = std::chrono::seconds(2),
            .direct = true};
}

/// A text of the field `name`; "": the reply has none.
std::string text_in(const serve::HttpReply& reply, const char* name) {
    const Json json = json_or_discarded<Json>(reply.text);
    if (!json.is_object() || !json.contains(name) || !json[name].is_string()) return "";
    return json[name].get<std::string>();
}

/// In one line: whoever answers may not write to the terminal.
std::string trouble_in(const serve::HttpReply& reply) {
    if (!reply.trouble.empty()) return reply.trouble;
    std::string text = text_in(reply, "error");
    if (text.empty()) text = reply.text;
    text.resize(std::min<std::size_t>(text.size(), 200));
    std::ranges::replace_if(text, is_control, '?');
    return fmt::format("answers {}: {}", reply.status, text);
}

void ask(Node& node, const std::string& window, const std::string& token) {
    serve::HttpCall call = call_to(fmt::format("{}/trace?{}", node.address, window), token);
    call.method = "POST";
    const auto reply = serve::call_http(call);
    if (reply.trouble.empty() && reply.status == 202) node.trace = text_in(reply, "trace");
    if (node.trace.empty()) node.trouble = trouble_in(reply);
}

/// Waits until the recording is written; its GPU work may be a minute late.
void fetch(Node& node, const fs::path& file, const std::string& token, double wait_s) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s + 90);
    while (!interrupted()) {
        std::ofstream to(file, std::ios::binary);
        auto call = call_to(fmt::format("{}/traces/{}", node.address, node.trace), token);
        call.patience = std::chrono::minutes(10);
        call.take = [&](std::string_view piece) {
            return to.write(piece.data(), static_cast<std::streamsize>(piece.size())).good();
        };
        const auto reply = serve::call_http(call);
        if (reply.status == 200 && reply.trouble.empty() && to.flush()) {
            node.file = file;
            return;
        }
        if (reply.status != 404 || std::chrono::steady_clock::now() > end) {
            node.trouble = trouble_in(reply);
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    node.trouble = "stopped";
}

/// All that came, in one file. A recording that cannot be read is its node's trouble.
Result<void> merge(std::vector<Node>& nodes, const fs::path& output) {
    for (;;) {
        std::vector<std::string> files;
        for (const Node& node : nodes)
            if (!node.file.empty()) files.push_back(node.file.string());
        if (files.empty()) return fail(ErrorKind::unreadable, "", "no node has sent a recording");
        TraceStore store;
        const auto read = import_ranks(
            files, [] { return TraceStore(whole_trace_options()); }, store);
        if (read) {
            if (const std::string lost = lost_on_reading(*read, store); !lost.empty())
                fmt::print(stderr, "warning: not in {}: {}\n", output.string(), lost);
            for (const std::string& note : read->notes) fmt::print("  note: {}\n", note);
            return export_trace(store, output).map([](const ExportNotes&) {});
        }
        const auto of = std::ranges::find_if(
            nodes, [&](const Node& node) { return node.file.string() == read.error().path; });
        if (of == nodes.end()) return tl::unexpected(read.error());
        of->trouble = read.error().message;
        of->file.clear();
    }
}

/// A new folder that only this user can look into; gone with this unless it is kept.
class PrivateFolder {
  public:
    static Result<PrivateFolder> beside(const fs::path& output) {
        std::string path = fs::absolute(output).parent_path() / ".gausscope-trigger-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            return fail(ErrorKind::unwritable, path,
                        fmt::format("cannot create the folder: {}", std::strerror(errno)),
                        "choose another folder with -o");
        return PrivateFolder(path);
    }
    PrivateFolder(PrivateFolder&& other) noexcept : path(std::exchange(other.path, {})) {}
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    ~PrivateFolder() {
        std::error_code error;
        if (!path.empty()) fs::remove_all(path, error);
    }
    fs::path path;

  private:
    explicit PrivateFolder(fs::path made) : path(std::move(made)) {}
};

/// Which stretch: the same one of every node, the future one once all have been asked.
std::string window_of(const TriggerArguments& a, double now_s, double notice_s) {
    const double length_s = a.last_s.value_or(a.seconds);
    const double begin_s = a.last_s ? now_s - length_s : std::ceil(now_s + notice_s);
    return fmt::format("ms={}&at={:.3f}", length_s * 1e3, begin_s);
}

Result<int> run(const TriggerArguments& a, const CommonArguments& common) {
    ::umask(S_IRWXG | S_IRWXO);  // recordings hold command lines
    GS_TRY(std::vector<Node> nodes, nodes_of(a));
    const fs::path output = a.output.empty()
                                ? fs::path(fmt::format("trigger-{:%Y%m%d-%H%M%S}.pftrace",
                                                       fmt::localtime(std::time(nullptr))))
                                : fs::path(a.output);
    GS_TRY_VOID(check_trace_format(output));
    GS_TRY_VOID(prepare_output_file(output));
    GS_TRY(const std::string token, token_in(a.token_file));
    GS_TRY(PrivateFolder folder, PrivateFolder::beside(output));
    catch_interrupts();
    const double notice_s = 3 + static_cast<double>(nodes.size()) / 20;
    const std::string window =
        window_of(a, static_cast<double>(clock_ns(CLOCK_REALTIME)) * 1e-9, notice_s);
    for_each_node(nodes, [&](Node& node) { ask(node, window, token); });
    const double wait_s = a.last_s ? 0 : notice_s + a.seconds;
    for_each_node(nodes, [&](Node& node) {
        const auto number = &node - nodes.data();
        fetch(node, folder.path / fmt::format("{}.pftrace", number), token, wait_s);
    });
    const auto merged = merge(nodes, output);
    Json rows = Json::array();
    std::size_t here = 0;
    for (const Node& node : nodes) {
        here += node.trouble.empty() ? 1 : 0;
        rows.push_back({{"host", node.name}, {"trace", node.trace}, {"error", node.trouble}});
        if (!node.trouble.empty()) fmt::print(stderr, "error: {}: {}\n", node.name, node.trouble);
    }
    if (!merged && here > 0) {
        const fs::path kept = std::exchange(folder.path, {});
        fmt::print(stderr, "the recordings are in {}\n", kept.string());
    }
    GS_TRY_VOID(merged);
    fmt::print("{} of {} nodes; written: {}\n", here, nodes.size(), output.string());
    if (common.json)
        print_json({{"command", "trigger"}, {"nodes", rows}, {"trace", output.string()}});
    return here == nodes.size() ? kDone : kFailed;
}

}  // namespace

Subcommand trigger_command() {
    return subcommand<TriggerArguments>(
        "trigger", "take one trace of the same time on several nodes that run `gausscope serve`",
        "  gausscope trigger gpu[01-16] --token-file token     the next 5 seconds of 16 nodes\n"
        "  gausscope trigger --slurm 4711 --last 10            the past 10 seconds of a job\n"
        "  gausscope trigger a:9465,b:9465 --seconds 2 -o job.pftrace\n",
        add_options, run);
}

}  // namespace gs::cli
