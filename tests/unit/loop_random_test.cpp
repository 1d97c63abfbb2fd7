// Iterations of programs made at random: most loops are found with the right number of turns, few
// with a wrong one, and nothing without a loop is called one.
#include <gtest/gtest.h>

#include <set>

#include "../support/loop_programs.h"
#include "profiler/analysis/iterations.h"

namespace gs {
namespace {

using test::Program;
using Names = std::vector<std::string>;

Names made_up_words(Program& p, std::size_t count) {
    std::set<std::string> seen;
    Names out;
    while (out.size() < count) {
        std::string word;
        for (int k = 0; k < 3; ++k) {
            word += "bdfgklmnprstvz"[p.between(0, 13)];
            word += "aeiou"[p.between(0, 4)];
        }
        if (seen.insert(word).second) out.push_back(word);
    }
    return out;
}

/// A training loop as somebody may have written it.
struct RandomLoop {
    explicit RandomLoop(Program& program) : p(program), words(made_up_words(program, 40)) {
        turns = p.between(30, 600);
        const int style = p.between(0, 3);
        micro = style < 2 ? p.one_of(std::vector<int>{1, 1, 1, 2, 4, 8}) : 1;
        if (style == 0) {
            inner = {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "Net",
                     "backward"};
            outer = {"Optimizer.step#Adam.step"};
            if (p.uniform() < 0.5) outer.push_back("Optimizer.zero_grad#Adam.zero_grad");
        } else if (style == 1) {
            inner = {p.one_of(Names{"load", "get batch", "next_batch"}),
                     p.one_of(Names{"forward", "fwd"}), "loss", p.one_of(Names{"backward", "bwd"})};
            if (p.uniform() < 0.5) inner.erase(inner.begin());
            outer = {
                p.one_of(Names{"optimizer", "optim step", "update weights", "apply_gradients"})};
        } else {
            for (int n = p.between(1, 6); n > 0; --n) inner.push_back(word());
        }
        for (int n = p.one_of(std::vector<int>{0, 0, 1, 2, 3}); n > 0; --n)
            aside.push_back({p.between(3, 50),
                             p.one_of(Names{"checkpoint", "log", "evaluate", word()}),
                             p.one_of(std::vector<int>{1, 1, 20})});
        for (int n = p.one_of(std::vector<int>{0, 0, 0, 1, 3}); n > 0; --n) noise.push_back(word());
        around = p.one_of(Names{"", "", "main", "epoch", "each"});
        each = word();
        shape = p.between(0, 2);
        burst = p.between(2, 6);
        noisy = 0.4 * p.uniform();
        beside = p.uniform() < 0.3;
    }
    void run() {
        if (around == "main") {
            p.around("main", [&] { loop(0, turns); });
        } else if (around == "epoch") {
            for (int e = 0; e < 5; ++e)
                p.around("epoch " + std::to_string(e),
                         [&] { loop(e * turns / 5, (e + 1) * turns / 5); });
        } else {
            loop(0, turns);
        }
    }

    Program& p;
    Names words;
    int turns = 0;

  private:
    struct Aside {
        int period;
        std::string name;
        int times;
    };
    std::string word() {
        std::string out = words.back();
        words.pop_back();
        return out;
    }
    void ops(const Names& names, int turn) {
        for (std::size_t k = 0; k < names.size(); ++k) {
            for (const std::string& n : noise)
                while (p.uniform() < noisy) p.op(n, 0.05);
            const bool waits = shape == 1 && k == 0 && turn % burst == 0;
            p.op(names[k], waits ? 10 : 1, 0.3);
            if (shape == 2) p.rest(0.2 * p.pareto(1.2));
        }
    }
    void turn(int i) {
        for (int k = 0; k < micro; ++k) ops(inner, i);
        ops(outer, i);
    }
    void loop(int from, int to) {
        for (int i = from; i < to; ++i) {
            if (around == "each")
                p.around(each, [&] { turn(i); });
            else
                turn(i);
            for (const Aside& a : aside)
                for (int k = 0; i % a.period == a.period - 1 && k < a.times; ++k) p.op(a.name, 2);
            if (!beside) continue;
            p.clock(2) = std::max(p.clock(2), p.clock(1));
            while (p.uniform() < 0.4)
                for (const char* name : {"collate", "decode"}) p.op(name, 0.3, 0.2, 2);
        }
    }

    int micro = 1, shape = 0, burst = 2;
    Names inner, outer, noise;
    std::vector<Aside> aside;
    std::string around, each;
    double noisy = 0;
    bool beside = false;
};

void without_loop(Program& p) {
    const Names words = made_up_words(p, 12);
    const int names = p.between(3, 10);
    std::vector<double> weights;
    for (int n = 0; n < names * names; ++n) weights.push_back(std::pow(p.uniform(), 2));
    const auto drawn = [&](int from) {
        double all = 0;
        for (int n = 0; n < names; ++n) all += weights[static_cast<std::size_t>(from * names + n)];
        double at = p.uniform() * all;
        for (int n = 0; n < names; ++n)
            if ((at -= weights[static_cast<std::size_t>(from * names + n)]) <= 0) return n;
        return names - 1;
    };
    const auto name = [&](int n) { return words[static_cast<std::size_t>(n)]; };
    switch (p.between(0, 3)) {
        case 0:  // a Markov chain
            for (int i = 0, state = 0; i < 1500; ++i) p.op(name(state = drawn(state)), 1, 1);
            break;
        case 1: {  // a server
            std::vector<Names> plans(static_cast<std::size_t>(names));
            for (Names& plan : plans)
                for (int k = p.between(1, 5); k > 0; --k) plan.push_back(p.one_of(words));
            for (int i = 0; i < 600; ++i) {
                p.rest(3 * p.lognormal(1));
                const auto which = static_cast<std::size_t>(p.between(0, names - 1));
                p.op(std::string("rpc ") + static_cast<char>('a' + which), 1, 0.2, Program::kMain,
                     [&] { p.ops(plans[which], 0.2); });
            }
            break;
        }
        case 2:  // each by itself
            for (int i = 0; i < 1500; ++i) p.op(name(drawn(0)), 1, 1.5);
            break;
        default:  // on three threads
            for (int i = 0; i < 1500; ++i)
                p.op(name(drawn(0)), 1, 1.5, static_cast<std::uint32_t>(p.between(1, 3)));
    }
}

constexpr std::uint64_t kFirst = 7000, kPrograms = 200;

TEST(RandomPrograms, MostLoopsAreFoundAndFewAreWrong) {
    int right = 0, wrong = 0;
    for (std::uint64_t seed = kFirst; seed < kFirst + kPrograms; ++seed) {
        Program program(seed);
        RandomLoop loop(program);
        loop.run();
        TraceStore store;
        program.into(store, [](std::int64_t) {});
        const Iterations found = find_iterations(store, 0);
        const auto count = static_cast<int>(found.items.size());
        const bool same = std::abs(count - loop.turns) <= 1;
        right += same ? 1 : 0;
        wrong += count > 0 && !same ? 1 : 0;
    }
    RecordProperty("right", right);
    RecordProperty("wrong", wrong);
    EXPECT_GE(right, static_cast<int>(kPrograms) * 93 / 100);
    EXPECT_LE(wrong, static_cast<int>(kPrograms) * 3 / 100);
}

TEST(RandomPrograms, NothingWithoutALoopIsCalledOne) {
    int found = 0;
    for (std::uint64_t seed = kFirst; seed < kFirst + kPrograms; ++seed) {
        Program program(seed);
        without_loop(program);
        TraceStore store;
        program.into(store, [](std::int64_t) {});
        const Iterations its = find_iterations(store, 0);
        EXPECT_FALSE(!its.items.empty() && its.kind == LoopKind::loop) << seed << ": " << its.how;
        found += its.items.empty() ? 0 : 1;
    }
    EXPECT_LE(found, static_cast<int>(kPrograms) / 50);
}

}  // namespace
}  // namespace gs
