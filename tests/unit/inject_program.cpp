#include "tests/unit/inject_program.h"

#include <cstdlib>
#include <stdexcept>

extern char** environ;

namespace gs::inject_test {

void Recording::add(const TraceBatch& batch) {
    for (const NameInfo& n : batch.names) {
        names_[n.name] = n;
        if (n.category != 0) categories_[{n.domain, n.category}] = n.text;
    }
    for (const TrackInfo& t : batch.tracks) threads_[t.track] = t.name;
    const auto seen = [&](std::uint32_t name, std::uint32_t track, std::uint32_t category) {
        const NameInfo& n = names_[name];
        Seen s;
        s.name = n.text, s.domain = n.domain, s.color = n.color;
        s.track = track, s.thread = threads_[track];
        if (category != 0) s.category = categories_[{n.domain, category}];
        return s;
    };
    for (const RangeValueEvent& e : batch.values) {
        const std::string text = e.kind == PayloadKind::name
                                     ? names_[static_cast<std::uint32_t>(e.value)].text
                                     : payload_text(e.value, e.kind);
        values_[{e.track, e.begin_ns, e.depth}].push_back(names_[e.name].text + " " + text);
    }
    for (const SpanEvent& e : batch.spans) {
        Seen s = seen(e.name, e.track, e.category);
        s.payload = e.payload, s.payload_kind = e.payload_kind, s.has_payload = e.has_payload;
        s.depth = e.depth, s.begin_ns = e.begin_ns, s.end_ns = e.end_ns;
        s.values = values_[{e.track, e.begin_ns, e.depth}];
        all_.push_back(std::move(s));
    }
    for (const AsyncSpanEvent& e : batch.async_spans) {
        Seen s = seen(e.name, e.track, e.category);
        s.payload = e.payload, s.payload_kind = e.payload_kind, s.has_payload = e.has_payload;
        s.overlapping = true, s.begin_ns = e.begin_ns, s.end_ns = e.end_ns;
        all_.push_back(std::move(s));
    }
    for (const InstantEvent& e : batch.instants) {
        Seen s = seen(e.name, e.track, 0);
        s.mark = true, s.payload = e.payload, s.begin_ns = s.end_ns = e.time_ns;
        s.values = values_[{e.track, e.time_ns, RangeValues::kMark}];
        all_.push_back(std::move(s));
    }
    last_ = batch;
}

std::vector<Seen> Recording::called(const std::string& name) const {
    std::vector<Seen> found;
    for (const Seen& s : all_)
        if (s.name == name) found.push_back(s);
    return found;
}

Seen Recording::only(const std::string& name) const {
    const std::vector<Seen> found = called(name);
    EXPECT_EQ(found.size(), 1u) << name;
    return found.empty() ? Seen{} : found.front();
}

std::vector<std::string> Recording::open() const {
    std::vector<std::string> texts;
    for (const OpenSpan& o : last_.open) {
        const auto name = names_.find(o.name);
        texts.push_back(name == names_.end() ? "" : name->second.text);
    }
    return texts;
}

std::vector<std::string> Recording::threads() const {
    std::vector<std::string> names;
    for (const auto& [track, name] : threads_) names.push_back(name);
    return names;
}

std::vector<Program::Build> Program::builds() {
    std::vector<Build> all{
        {GAUSSCOPE_NVTX_PROGRAM, GAUSSCOPE_NVTX_OBJECT, GAUSSCOPE_NVTX_OBJECT_2}};
#ifdef GAUSSCOPE_NVTX_PROGRAM_TOOLKIT
    all.push_back(
        {GAUSSCOPE_NVTX_PROGRAM_TOOLKIT, GAUSSCOPE_NVTX_OBJECT_TOOLKIT, GAUSSCOPE_NVTX_OBJECT});
#endif
    return all;
}
std::string Program::library() { return GAUSSCOPE_INJECT_LIBRARY; }

Program::Program(const Build& build, std::vector<std::string> arguments,
                 const Environment& environment) {
    std::string folder = std::filesystem::temp_directory_path() / "gs-inject-test-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    // The client in this test also looks there.
    ::setenv(service::kDirectoryVariable, folder_.c_str(), 1);
    std::map<std::string, std::string> variables{{"NVTX_INJECTION64_PATH", library()},
                                                 {service::kArmVariable, "1"}};
    for (char** v = environ; *v != nullptr; ++v) {
        const std::string text = *v;
        variables.try_emplace(text.substr(0, text.find('=')),
                              text.substr(std::min(text.find('=') + 1, text.size())));
    }
    for (const auto& [name, value] : environment) variables[name] = value;
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
    std::vector<char*> words, argv{const_cast<char*>(build.program.c_str())};
    for (std::string& t : texts) words.push_back(t.data());
    for (std::string& a : arguments) argv.push_back(a.data());
    words.push_back(nullptr);
    argv.push_back(nullptr);

    int down[2], up[2];
    if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, down[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, up[1], 1);
    EXPECT_EQ(
        ::posix_spawn(&pid_, build.program.c_str(), &actions, nullptr, argv.data(), words.data()),
        0)
        << build.program;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(down[0]);
    ::close(up[1]);
    to_ = down[1], from_ = up[0];
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

std::string Program::wait_until_ready() {
    std::string text;
    for (char c = 0; ::read(from_, &c, 1) == 1;) {
        text += c;
        if (text.ends_with("ready\n")) return text;
    }
    return text + "gone";
}

int Program::wait() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
}

service::Connection& Program::connection() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::string why = "no producer";
    while (connection_ == nullptr && std::chrono::steady_clock::now() < until) {
        for (const service::Producer& p : service::find_producers()) {
            auto opened = service::Connection::open(p);
            if (opened) connection_ = std::make_unique<service::Connection>(std::move(*opened));
            if (!opened) why = opened.error().text();
        }
        if (connection_ == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (connection_ == nullptr) {
        ADD_FAILURE() << "the program cannot be reached: " << why;
        std::abort();
    }
    return *connection_;
}

void Program::arm(bool on) {
    // The library's thread is the last to run on a busy machine.
    Result<service::Reply> reply;
    for (int attempt = 0; attempt < 10; ++attempt) {
        reply = connection().ask(on ? service::Op::arm : service::Op::disarm);
        if (reply) return settle(on);
    }
    ADD_FAILURE() << reply.error().text();
}

void Program::settle(bool armed) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
        const auto& service = drain().last().service;
        if (service && service->armed == armed) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "the program was not " << (armed ? "armed" : "disarmed");
}

Recording& Program::drain() {
    TraceBatch batch;
    connection().drain(batch);
    recording_.add(batch);
    return recording_;
}

const Recording& Program::recorded() {
    if (const std::string said = wait_until_ready(); said != "ready\n")
        throw std::runtime_error("the program is not ready: " + said);
    return drain();
}

}  // namespace gs::inject_test
