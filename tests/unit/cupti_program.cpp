#include "tests/unit/cupti_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

extern char** environ;

namespace gs::cupti_test {

std::string trainer_path() { return GAUSSCOPE_FAKE_TRAINER; }
std::string program_path() { return GAUSSCOPE_CUDA_PROGRAM; }

namespace {

std::vector<std::string> variables_of(const Environment& own) {
    std::map<std::string, std::string> variables;
    for (char** v = environ; *v != nullptr; ++v) {
        const std::string text = *v;
        if (const std::size_t at = text.find('='); at != std::string::npos)
            variables[text.substr(0, at)] = text.substr(at + 1);
    }
    variables["NVTX_INJECTION64_PATH"] = variables["CUDA_INJECTION64_PATH"] =
        GAUSSCOPE_INJECT_LIBRARY;
    variables["LD_LIBRARY_PATH"] = GAUSSCOPE_MOCK_CUDA;
    variables[service::kArmVariable] = "1";
    for (const auto& [name, value] : own) variables[name] = value;
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables)
        if (!value.empty()) texts.push_back(name + "=" + value);
    return texts;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& t : texts) pointers.push_back(t.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

Program::Program(const std::string& path, std::vector<std::string> arguments,
                 const Environment& environment) {
    std::string folder = std::filesystem::temp_directory_path() / "gs-cupti-test-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    ::setenv(service::kDirectoryVariable, folder_.c_str(), 1);
    auto collector = service::CollectorSocket::open();
    if (!collector) {
        ADD_FAILURE() << collector.error().text();
        std::abort();
    }
    collector_ = std::move(*collector);
    Environment with = environment;
    with.emplace_back(service::kCollectorVariable, collector_->path().string());
    start(path, std::move(arguments), with);
    connection_ = std::make_unique<service::Connection>(accept_one());
}

service::Connection Program::accept_one() {
    pollfd waiting{collector_->descriptor(), POLLIN, 0};
    const int socket = ::poll(&waiting, 1, 20'000) > 0 ? collector_->accept() : -1;
    auto adopted = service::Connection::adopt(socket);
    if (adopted) return std::move(*adopted);
    ADD_FAILURE() << "the program does not connect: " << adopted.error().text();
    std::abort();
}

void Program::read_child(TraceStore& store) {
    service::Connection child = accept_one();
    const auto read = [&] {
        TraceBatch batch;
        child.drain(batch);
        store.ingest(batch);
    };
    while (child.ask(service::Op::status)) {
        read();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    read();
}

void Program::start(const std::string& path, std::vector<std::string> arguments,
                    const Environment& environment) {
    std::vector<std::string> variables = variables_of(environment);
    arguments.insert(arguments.begin(), path);
    int down[2], up[2];
    if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, down[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, up[1], 1);
    EXPECT_EQ(::posix_spawn(&pid_, path.c_str(), &actions, nullptr, pointers_to(arguments).data(),
                            pointers_to(variables).data()),
              0)
        << path;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(down[0]);
    ::close(up[1]);
    to_ = down[1];
    from_ = up[0];
}

Program::~Program() {
    connection_.reset();
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::close(to_);
    ::close(from_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string Program::tell(const std::string& command) {
    const std::string line = command + "\n";
    if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "gone";
    std::string answer;
    for (char c = 0; ::read(from_, &c, 1) == 1;) {
        if (c == '\n') return answer;
        answer += c;
    }
    return answer + " gone";
}

long Program::status(const std::string& word) {
    std::istringstream text(tell("status"));
    long number = -1;
    for (std::string w; text >> w;)
        if (w == word && text >> number) return number;
    return -1;
}

service::Reply Program::ask(service::Op op, std::uint64_t value) {
    auto reply = connection_->ask(op, value);
    if (!reply) {
        ADD_FAILURE() << reply.error().text();
        return {};
    }
    return *reply;
}

void Program::drain() {
    TraceBatch batch;
    connection_->drain(batch);
    store_.ingest(batch);
}

void Program::drain_until(const std::function<bool()>& enough, std::source_location where) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (drain(); !enough() && std::chrono::steady_clock::now() < until; drain())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(enough()) << where.file_name() << ":" << where.line();
}

int Program::finish() {
    static_cast<void>(!::write(to_, "quit\n", 5));
    // Reads all the while: the ring keeps only so much.
    int status = -1;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
        drain();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    pid_ = -1;
    // Records wait a second for a clock that may never come.
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
    do {
        drain();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (service().cupti == abi::CuptiState::recording && kernels() == 0 &&
             std::chrono::steady_clock::now() < until);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const ServiceStatus& Program::service() const {
    static const ServiceStatus none;
    return store_.processes().empty() || !store_.processes()[0].service
               ? none
               : *store_.processes()[0].service;
}

std::vector<Work> works_of(const TraceStore& store, GpuWorkKind kind) {
    std::vector<Work> found;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (track.kind != TrackKind::gpu_stream) continue;
        for (std::size_t r = 0; r < track.rows.size(); ++r)
            for (const TraceSpan& span : track.rows[r].view()) {
                const GpuWork* detail = store.tracks()[t].work_of(r, span);
                if (detail == nullptr || detail->kind != kind) continue;
                Work w{std::string(store.name(span.name)),
                       "",
                       false,
                       0,
                       track.device,
                       track.stream,
                       span.begin_ns,
                       span.end_ns,
                       0,
                       *detail};
                const auto range = range_of(store, t, r, span);
                if (range.span != nullptr) w.range = store.name(range.span->name);
                w.inferred = range.inferred;
                const auto launch = store.timeline().launching_span(t, r, span);
                if (launch.span != nullptr) {
                    w.launch_ns = launch.span->begin_ns;
                    w.tid = store.tracks()[launch.track].tid;
                }
                found.push_back(std::move(w));
            }
    }
    return found;
}

std::size_t Program::calls(const std::string& name) const {
    std::size_t count = 0;
    for (const TraceTrack& track : store_.tracks()) {
        if (track.kind != TrackKind::api) continue;
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view()) count += store_.name(span.name) == name;
    }
    return count;
}

std::vector<std::string> Program::instants() const {
    std::vector<std::string> texts;
    for (const TraceInstant& i : store_.instants()) texts.emplace_back(store_.name(i.name));
    return texts;
}

double Program::counter(const std::string& name) const {
    for (const CounterSeries& series : store_.counters())
        if (store_.name(series.name) == name && !series.points.view().empty())
            return series.points.view().back().value;
    return std::nan("");
}

}  // namespace gs::cupti_test
