// The training of another process in the studio: a made-up trainer on the other end of the socket,
// also one that lies.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/session/parts/followed_training.h"
#include "app/session/trainer_snapshot.h"
#include "base/record/protocol.h"
#include "studio_harness.h"

namespace gs {
namespace {

using service::TrainerLink;
using service::TrainerRecord;

TrainerRecord record_of(TrainerRecord::Kind kind, std::uint64_t a = 0, std::uint64_t b = 0,
                        const char* text = "") {
    TrainerRecord out{.kind = kind, .a = a, .b = b};
    std::strncpy(out.text, text, sizeof out.text - 1);
    return out;
}

/// Shared memory with these bytes.
service::Descriptor memory_of(const std::vector<float>& numbers) {
    service::Descriptor out(::memfd_create("test", MFD_CLOEXEC));
    const auto bytes = static_cast<ssize_t>(numbers.size() * sizeof(float));
    EXPECT_EQ(::write(out.get(), numbers.data(), static_cast<std::size_t>(bytes)), bytes);
    return out;
}

/// `rows` Gaussians of degree 0 around the origin, and `extra` numbers by row.
std::vector<float> gaussians(std::size_t rows, std::size_t extra = 0) {
    std::vector<float> out;
    for (std::size_t i = 0; i < 3 * rows; ++i) out.push_back(0.1f * static_cast<float>(i % 7));
    for (std::size_t i = 0; i < 4 * rows; ++i) out.push_back(i % 4 == 0 ? 1.0f : 0.0f);
    out.resize(out.size() + 3 * rows, 0.25f);  // scales
    out.resize(out.size() + rows, 0.5f);       // opacities
    out.resize(out.size() + 3 * rows, 1.0f);   // sh0
    for (std::size_t i = 0; i < extra * rows; ++i) out.push_back(static_cast<float>(i));
    return out;
}

/// A pair of connected sockets.
struct Ends {
    Ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0); }
    int fd[2];
};

/// The other end of a TrainerLink.
class Trainer {
  public:
    explicit Trainer(int socket = -1) : socket_(socket) {}
    void send(const TrainerRecord& record, int memory = -1,
              std::size_t bytes = sizeof(TrainerRecord)) {
        iovec part{const_cast<TrainerRecord*>(&record), bytes};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (memory >= 0) {
            message.msg_control = control;
            message.msg_controllen = sizeof control;
            cmsghdr* const c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof memory);
            std::memcpy(CMSG_DATA(c), &memory, sizeof memory);
        }
        EXPECT_EQ(::sendmsg(socket_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
    }
    void snapshot(std::uint64_t step, std::size_t rows, std::uint64_t flags = 0,
                  const std::vector<float>& numbers = {}) {
        const auto memory = memory_of(numbers.empty() ? gaussians(rows) : numbers);
        TrainerRecord record = record_of(TrainerRecord::snapshot, rows, 1 | flags << 8);
        record.number = step;
        send(record, memory.get());
    }
    void step(std::uint64_t step, double loss, bool waiting = false) {
        TrainerRecord record = record_of(TrainerRecord::step, 20);
        record.number = step;
        record.values[TrainerRecord::loss] = loss;
        record.values[TrainerRecord::milliseconds] = 2;
        record.values[TrainerRecord::share] = 0.01;
        record.values[TrainerRecord::waiting] = waiting ? 1 : 0;
        record.values[TrainerRecord::can_wait] = 1;
        send(record);
    }
    /// The next record of this kind; others are passed over.
    TrainerRecord next(TrainerRecord::Kind kind) {
        TrainerRecord record;
        do {
            record = {};
            if (receive(record) <= 0) break;
        } while (record.kind != kind);
        EXPECT_EQ(record.kind, kind);
        return record;
    }
    ssize_t receive(TrainerRecord& out) { return ::recv(socket_.get(), &out, sizeof out, 0); }
    void close() { socket_ = service::Descriptor(); }

  protected:
    service::Descriptor socket_;
};

/// One that a session can find, by the number of this process.
class FoundTrainer : public Trainer {
  public:
    FoundTrainer() {
        ::setenv(service::kDirectoryVariable, folder_.path().c_str(), 1);
        ::chmod(folder_.path().c_str(), 0700);
        listener_ = service::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
        const timeval patience{60, 0};
        ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = folder_.path() / (std::to_string(::getpid()) + ".training");
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                  0);
        EXPECT_EQ(::listen(listener_.get(), 4), 0);
    }
    ~FoundTrainer() { ::unsetenv(service::kDirectoryVariable); }
    void follow(SessionHarness& it) {
        it.session.send([](Engine& e) {
            e.part<FollowedTraining>().follow(static_cast<std::uint32_t>(::getpid()));
        });
        socket_ = service::Descriptor(::accept(listener_.get(), nullptr, nullptr));
        const timeval patience{60, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        next(TrainerRecord::want);
    }
    /// The first snapshot of 20 Gaussians is on view.
    void begin(SessionHarness& it) {
        follow(it);
        send(record_of(TrainerRecord::hello, 500, 0, "mine.py"));
        TrainerRecord rate = record_of(TrainerRecord::parameter, 0, 0, "lr");
        rate.values[0] = rate.values[3] = 0.01;
        rate.values[2] = 1;
        send(rate);
        step(7, 0.5);
        snapshot(7, 20);
        ASSERT_TRUE(it.until([&] { return it.state.scene && it.state.training.step == 7; }));
    }

  private:
    TemporaryFolder folder_;
    service::Descriptor listener_;
};

Result<GaussianModel> read(std::uint64_t rows, std::uint64_t bases_and_flags, int memory) {
    GivenValues given;
    return read_snapshot(record_of(TrainerRecord::snapshot, rows, bases_and_flags), memory, given);
}

TEST(TrainerSnapshot, both_layouts) {
    const auto numbers = gaussians(5000, 2);
    const auto memory = memory_of(numbers);
    GivenValues given;
    const std::uint64_t flags = TrainerRecord::gradients | TrainerRecord::second_moments;
    const auto linear = required(read_snapshot(
        record_of(TrainerRecord::snapshot, 5000, 1 | flags << 8), memory.get(), given));
    EXPECT_EQ(linear.count, 5000u);
    for (const std::size_t row : {0u, 4095u, 4096u, 4999u}) {
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_EQ(linear.at(kMeans + static_cast<int>(c), row), numbers[3 * row + c]);
        EXPECT_EQ(linear.at(kQuats, row), 1);
        EXPECT_FLOAT_EQ(linear.at(kLogScales, row), std::log(0.25f));
        EXPECT_FLOAT_EQ(linear.at(kOpacityLogits, row), 0);
        EXPECT_EQ(linear.at(kSh0, row), 1);
        EXPECT_EQ(given.gradients[row], static_cast<float>(row));
        EXPECT_EQ(given.second_moments[row], static_cast<float>(5000 + row));
    }
    const auto stored = read(5000, 1 | TrainerRecord::stored << 8, memory.get());
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->at(kLogScales, 9), 0.25f);
    EXPECT_EQ(stored->at(kOpacityLogits, 9), 0.5f);
}

TEST(TrainerSnapshot, zero_one_and_nan_are_legal) {
    auto numbers = gaussians(3);
    numbers[0] = std::nanf("");
    numbers[21] = 0;  // a scale
    numbers[30] = 0;  // opacities
    numbers[31] = 1;
    numbers[32] = std::nanf("");
    const auto memory = memory_of(numbers);
    const auto model = read(3, 1, memory.get());
    ASSERT_TRUE(model);
    EXPECT_TRUE(std::isnan(model->at(kMeans, 0)));
    EXPECT_TRUE(std::isfinite(model->at(kLogScales, 0)));
    EXPECT_TRUE(std::isfinite(model->at(kOpacityLogits, 0)));
    EXPECT_TRUE(std::isfinite(model->at(kOpacityLogits, 1)));
    EXPECT_TRUE(std::isnan(model->at(kOpacityLogits, 2)));
    EXPECT_TRUE(read(0, 16, memory.get()));
}

TEST(TrainerSnapshot, sizes_that_lie_are_refused) {
    const auto memory = memory_of(gaussians(10));
    EXPECT_TRUE(read(10, 1, memory.get()));
    for (const std::uint64_t rows : {11ull, 1ull << 31, 1ull << 60, ~0ull})
        EXPECT_FALSE(read(rows, 1, memory.get())) << rows;
    for (const std::uint64_t bases : {0u, 2u, 4u, 5u, 16u, 25u, 255u})
        EXPECT_FALSE(read(10, bases, memory.get())) << bases;
    EXPECT_FALSE(read(10, 1 | TrainerRecord::gradients << 8, memory.get()));
    EXPECT_FALSE(read(10, 1, -1));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const service::Descriptor from(ends[0]), to(ends[1]);
    EXPECT_FALSE(read(10, 1, from.get()));
    const service::Descriptor folder(::open("/tmp", O_RDONLY));
    EXPECT_FALSE(read(10, 1, folder.get()));
}

TEST(TrainerLink, messages_that_are_none_end_it) {
    for (const int wrong : {0, 1, 2, 3}) {
        const Ends ends;
        Trainer trainer(ends.fd[0]);
        TrainerLink link(ends.fd[1]);
        TrainerRecord record = record_of(TrainerRecord::step);
        trainer.send(record);
        if (wrong == 1) record.magic = 1;
        if (wrong == 2) record.version = 2;
        const auto memory = memory_of({1});
        trainer.send(record, wrong == 3 ? memory.get() : -1, wrong == 0 ? 100 : sizeof record);
        EXPECT_EQ(link.take(10).size(), wrong == 3 ? 2u : 1u);
        EXPECT_EQ(link.ended().empty(), wrong == 3) << link.ended();
    }
}

TEST(TrainerLink, what_a_dead_trainer_sent_is_still_read) {
    const Ends ends;
    Trainer trainer(ends.fd[0]);
    TrainerLink link(ends.fd[1]);
    link.send(TrainerRecord::want);  // never read there
    trainer.snapshot(3, 4);
    trainer.close();
    link.send(TrainerRecord::want);
    const auto messages = link.take(10);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_TRUE(read_snapshot(messages[0].record, messages[0].memory.get(),
                              *std::make_unique<GivenValues>()));
    EXPECT_NE(link.ended(), "");
}

TEST(Followed, shows_its_snapshots_and_curves) {
    FoundTrainer trainer;
    SessionHarness it;
    trainer.begin(it);
    EXPECT_EQ(it.state.scene->name, "mine.py (" + std::to_string(::getpid()) + ")");
    EXPECT_TRUE(it.until_state(RunState::training));
    EXPECT_EQ(it.state.training.gaussians, 20u);
    EXPECT_EQ(it.state.training.total_steps, 500u);
    trainer.next(TrainerRecord::release);
    for (std::uint64_t step = 8; step < 20; ++step) {  // another count each time
        trainer.step(step, 1.0 / static_cast<double>(step));
        TrainerRecord psnr = record_of(TrainerRecord::value, 0, 0, "psnr");
        psnr.number = step;
        psnr.values[0] = 20;
        trainer.send(psnr);
        psnr = record_of(TrainerRecord::value, 0, 0, "my number");
        psnr.number = step;
        trainer.send(psnr);
    }
    trainer.next(TrainerRecord::want);
    auto numbers = gaussians(33, 1);
    numbers[5] = std::nanf("");
    trainer.snapshot(19, 33, TrainerRecord::gradients, numbers);
    PictureRequest request;
    request.request.camera = look_at({0, 0, -3}, {0, 0, 0}, {0, -1, 0}, 64, 48, 0.9);
    std::size_t asked = 0;
    ASSERT_TRUE(it.until([&] {
        if (!it.pictures.empty() && it.pictures.back()->frame->step == 19) return true;
        if (asked == it.pictures.size()) ++asked, it.session.send(jobs::picture(request));
        return false;
    }));
    EXPECT_GT(it.pictures.back()->frame->visible, 0u);
    ASSERT_TRUE(it.until([&] { return it.state.curves && it.state.curves->loss.size() == 13; }));
    EXPECT_EQ(it.state.curves->train_psnr.size(), 12u);
    ASSERT_EQ(it.state.curves->logged.size(), 1u);
    EXPECT_EQ(it.state.curves->logged[0].name, "my number");
    EXPECT_DOUBLE_EQ(it.state.training.viewer_share, 0.01);
    EXPECT_TRUE(it.errors.empty()) << it.errors.front().text;
}

TEST(Followed, pause_step_and_parameters_go_back) {
    FoundTrainer trainer;
    SessionHarness it;
    trainer.begin(it);
    ASSERT_TRUE(it.until([&] { return it.state.settings && it.state.settings->size() == 1; }));
    EXPECT_EQ(it.state.settings->front().name, "lr");
    it.session.send(jobs::pause());
    EXPECT_EQ(trainer.next(TrainerRecord::run_to).a, 0u);
    trainer.step(8, 0.4, true);
    EXPECT_TRUE(it.until_state(RunState::paused));
    it.session.send(jobs::steps(3));
    EXPECT_EQ(trainer.next(TrainerRecord::run_to).a, 11u);
    it.session.send(jobs::start());
    EXPECT_EQ(trainer.next(TrainerRecord::run_to).a, TrainerRecord::kNever);
    it.session.send([](Engine& e) { e.part<FollowedTraining>().set("lr", 0.5); });
    const TrainerRecord set = trainer.next(TrainerRecord::set);
    EXPECT_STREQ(set.text, "lr");
    EXPECT_EQ(set.values[0], 0.5);
    it.session.send([](Engine& e) { e.part<FollowedTraining>().set("lr", 7); });
    it.session.send([](Engine& e) { e.part<FollowedTraining>().set("nonsense", 7); });
    it.session.send([](Engine& e) { e.part<Training>().stop(); });
    EXPECT_TRUE(it.until([&] { return it.errors.size() == 3; }));
    TrainerRecord rate = record_of(TrainerRecord::parameter, 0, 0, "lr");
    rate.number = 8;
    rate.values[0] = 0.5;
    rate.values[2] = 1;
    trainer.send(rate);
    ASSERT_TRUE(it.until([&] { return it.state.curves && !it.state.curves->marks.empty(); }));
    EXPECT_EQ(it.state.curves->marks[0].text, "lr 0.01 -> 0.5");
}

TEST(Followed, a_trainer_that_dies_leaves_its_picture) {
    FoundTrainer trainer;
    SessionHarness it;
    trainer.begin(it);
    trainer.close();
    EXPECT_TRUE(it.until_state(RunState::finished));
    EXPECT_TRUE(it.state.scene);
    it.session.send(jobs::pause());
    EXPECT_TRUE(it.until([&] { return !it.errors.empty(); }));
    // Another scene, and it is forgotten.
    EXPECT_TRUE(it.open(tiny_capture()));
    EXPECT_FALSE(it.state.training.followed);
    EXPECT_GT(it.state.settings->size(), 10u);
}

TEST(Followed, one_that_dies_before_its_first_step_is_said) {
    FoundTrainer trainer;
    SessionHarness it;
    trainer.follow(it);
    EXPECT_TRUE(it.until_state(RunState::loading));
    trainer.close();
    EXPECT_TRUE(it.until_state(RunState::failed));
}

TEST(Followed, the_open_scene_stays_until_the_first_snapshot) {
    FoundTrainer trainer;
    SessionHarness it;
    ASSERT_TRUE(it.open(tiny_capture()));
    trainer.follow(it);
    trainer.send(record_of(TrainerRecord::hello, 0, 0, "late.py"));
    trainer.send(record_of(TrainerRecord::parameter, 0, 0, "lr"));
    it.session.send(jobs::steps(2));  // of the open scene
    EXPECT_TRUE(it.until([&] { return it.state.training.step == 2; }));
    EXPECT_GT(it.state.settings->size(), 10u);
    trainer.close();
    EXPECT_TRUE(it.until([&] {
        return std::ranges::any_of(
            it.notes, [](const EngineEvent& note) { return note.text.starts_with("late.py"); });
    }));
    EXPECT_FALSE(it.state.training.followed);
    EXPECT_EQ(it.run_state(), RunState::paused);
}

TEST(Followed, one_that_lies_is_said_and_not_asked_again) {
    FoundTrainer trainer;
    SessionHarness it;
    trainer.begin(it);
    trainer.next(TrainerRecord::want);
    TrainerRecord lie = record_of(TrainerRecord::snapshot, 1 << 30, 1);
    const auto memory = memory_of(gaussians(2));
    trainer.send(lie, memory.get());
    EXPECT_TRUE(it.until([&] { return it.errors.size() == 1; }));
    trainer.send(record_of(TrainerRecord::snapshot, 3, 1));  // without memory
    trainer.send(record_of(static_cast<TrainerRecord::Kind>(77)));
    TrainerRecord numbers = record_of(TrainerRecord::step, ~0ull);
    numbers.number = ~0ull;
    for (double& value : numbers.values) value = std::nan("");
    trainer.send(numbers);
    EXPECT_TRUE(it.until([&] { return it.errors.size() == 2; }));
    trainer.step(9, 0.5);
    EXPECT_TRUE(it.until([&] { return it.state.training.step == 9; }));
    EXPECT_EQ(it.state.scene->gaussians, 20u);
}

TEST(Followed, closing_the_scene_lets_the_trainer_go) {
    FoundTrainer trainer;
    SessionHarness it;
    trainer.begin(it);
    it.session.send(jobs::close());
    EXPECT_TRUE(it.until([&] { return !it.state.scene && !it.state.training.followed; }));
    TrainerRecord record;
    ssize_t bytes = 1;
    while (bytes > 0 || (bytes < 0 && errno == ECONNRESET)) bytes = trainer.receive(record);
    EXPECT_EQ(bytes, 0);
}

TEST(Followed, a_process_that_is_no_training_is_refused) {
    const TemporaryFolder folder;
    ::setenv(service::kDirectoryVariable, folder.path().c_str(), 1);
    ::chmod(folder.path().c_str(), 0700);
    SessionHarness it;
    it.session.send([](Engine& e) { e.part<FollowedTraining>().follow(1); });
    EXPECT_TRUE(it.until([&] { return it.errors.size() == 1; }));
    EXPECT_FALSE(it.state.training.followed);
    ::unsetenv(service::kDirectoryVariable);
}

}  // namespace
}  // namespace gs
