// Iterations by structure: programs of every shape that training loops have, with the number of
// turns each of them makes, and programs without a loop.
#include <gtest/gtest.h>

#include <map>

#include "../support/loop_programs.h"
#include "profiler/analysis/iterations.h"

namespace gs {
namespace {

using test::Program;
using Names = std::vector<std::string>;

constexpr const char* kLoader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
constexpr const char* kAdam = "Optimizer.step#Adam.step";
const Names kWords{"load", "forward", "backward", "optimizer"};
const Names kPlain{"alpha", "beta", "gamma"};
constexpr int kNone = -1, kRequests = -2;  // in place of a number of turns
constexpr std::uint64_t kSeeds = 5;

struct Pattern {
    const char* name;
    int turns;
    std::function<void(Program&)> make;
    double slack = 0;  ///< of the turns, beyond one
};

/// `each`: what comes every N turns, by N.
std::function<void(Program&)> repeat(int turns, Names names, double noise = 0.2,
                                     std::map<int, std::function<void(Program&)>> each = {}) {
    return [=](Program& p) {
        for (int i = 1; i <= turns; ++i) {
            p.ops(names, 1, noise);
            for (const auto& [period, what] : each)
                if (i % period == 0) what(p);
        }
    };
}

struct Torch {
    int turns = 200, workers = 2;
    double batch_ms = 12;  ///< the first of a burst
    int epochs = 1, evaluate_every = 0;
};
std::function<void(Program&)> torch_loop(Torch t) {
    return [=](Program& p) {
        for (int epoch = 0; epoch < t.epochs; ++epoch) {
            for (int i = 0; i < t.turns / t.epochs; ++i) {
                p.op(kLoader, i % t.workers == 0 ? t.batch_ms : 0.1, 0.3);
                p.op("Net", 1.8, 0.2, Program::kMain, [&] {
                    p.op("Net.conv", 0.5);
                    p.op("Net.fc", 0.2);
                });
                p.op("backward", 1.9);
                p.op(kAdam, 0.6);
                if (t.evaluate_every > 0 && (i + 1) % t.evaluate_every == 0)
                    for (int k = 0; k < 20; ++k) p.ops({kLoader, "Net"}, 0.6);
            }
            p.op(kLoader, 0.2);  // it says that there is no more
        }
    };
}

std::function<void(Program&)> accumulate(int micro, Names inner, Names outer) {
    return [=](Program& p) {
        for (int i = 0; i < 100; ++i) {
            for (int k = 0; k < micro; ++k) p.ops(inner);
            p.ops(outer, 0.5);
        }
    };
}

std::function<void(Program&)> nest(int outer, int turns, std::string name, bool numbered = false,
                                   Names inner = kPlain) {
    return [=](Program& p) {
        for (int e = 0; e < outer; ++e)
            p.around(numbered ? name + " " + std::to_string(e) : name,
                     [&] { repeat(turns, inner)(p); });
    };
}

std::function<void(Program&)> lose(double share) {
    return [=](Program& p) {
        repeat(400, kWords)(p);
        std::erase_if(p.events, [&](const auto&) { return p.uniform() < share; });
    };
}

const std::vector<Pattern> kStraight{
    {"words", 200, repeat(200, kWords)},
    {"no words", 200, repeat(200, kPlain)},
    {"one name", 200, repeat(200, {"work"})},
    {"10 epochs", 200, torch_loop({.epochs = 10})},
    {"evaluation each 25", 300, torch_loop({.turns = 300, .workers = 4, .evaluate_every = 25})},
    {"bimodal", 300,
     [](Program& p) {
         for (int i = 0; i < 300; ++i) {
             p.op("alpha", i % 2 == 0 ? 1 : 11);
             p.ops({"beta", "gamma"});
         }
     }},
    {"heavy tail", 300, repeat(300, kPlain, 2.0)},
    {"Pareto pauses", 300,
     [](Program& p) {
         for (int i = 0; i < 300; ++i) {
             p.ops(kWords);
             p.rest(p.pareto(1.1));
         }
     }},
    {"evaluation each 20, no words", 400,
     repeat(400, kPlain, 0.2, {{20, [](Program& p) { p.op("omega", 30); }}})},
    {"log each 2, save each 50", 400,
     repeat(
         400, {"forward", "backward", "optimizer"}, 0.2,
         {{2, [](Program& p) { p.op("log", 0.1); }}, {50, [](Program& p) { p.op("save", 80); }}})},
    {"few turns", 20, repeat(20, kPlain)},
    {"very few turns", 5, repeat(5, kWords)},
    {"stop of a minute", 300,
     [](Program& p) {
         repeat(150, kPlain)(p);
         p.rest(60'000);
         repeat(150, kPlain)(p);
     }},
    {"2,000 batches of evaluation", 400,
     [](Program& p) {
         torch_loop({})(p);
         for (int i = 0; i < 2000; ++i) p.ops({kLoader, "Net"}, 0.4);
         torch_loop({})(p);
     }},
    {"warm-up loop before", 230,
     [](Program& p) {
         repeat(30, {"compile", "autotune"})(p);
         repeat(200, kPlain)(p);
     }},
    {"other names half-way", 400,
     [](Program& p) {
         repeat(100, kPlain)(p);
         repeat(300, {"delta", "epsilon"})(p);
     }},
    {"attached and ended in mid-turn", 200,
     [](Program& p) {
         repeat(201, kWords)(p);
         p.events.erase(p.events.begin(), p.events.begin() + 2);
         p.events.resize(p.events.size() - 2);
     }},
    {"a quarter lost at once", 300,
     [](Program& p) {
         repeat(400, kPlain)(p);
         p.events.erase(p.events.begin() + 450, p.events.begin() + 750);
     }},
    {"1 % lost", 400, lose(0.01), 0.06},
    {"5 % lost", 400, lose(0.05), 0.07},
};

const std::vector<Pattern> kTurnsOfSeveral{
    {"2 micro steps", 100,
     accumulate(2, {"load", "forward", "backward"}, {"optimizer", "zero_grad"})},
    {"4 micro steps", 100,
     accumulate(4, {"load", "forward", "backward"}, {"optimizer", "zero_grad"})},
    {"16 micro steps", 100,
     accumulate(16, {"load", "forward", "backward"}, {"optimizer", "zero_grad"})},
    {"4 micro steps of PyTorch", 100, accumulate(4, {kLoader, "Net", "backward"}, {kAdam})},
    {"micro steps without words", 400, accumulate(4, {"a", "b", "c"}, {"u", "v"})},
    {"3 to 5 micro steps", 150,
     [](Program& p) {
         for (int i = 0; i < 150; ++i) {
             for (int k = p.between(3, 5); k > 0; --k) p.ops({"forward", "backward"});
             p.ops({"optimizer", "zero_grad"});
         }
     }},
    {"zero_grad before or after", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) {
             if (i % 3 == 0) p.op("zero_grad", 0.1);
             p.ops({"forward", "backward", "optimizer"});
             if (i % 3 == 1) p.op("zero_grad", 0.1);
         }
     }},
    {"one optimizer twice", 200,
     repeat(200, {kLoader, "G", "D", "backward", kAdam, "G", "D", "backward", kAdam})},
    {"two optimizers", 200, repeat(200, {kLoader, "G", "D", kAdam, "Optimizer.step#SGD.step"})},
    {"a generator each 5th", 200,
     repeat(200, {"load", "D forward", "D backward", "D optimizer"}, 0.2,
            {{5,
              [](Program& p) {
                  p.ops({"G forward", "G backward", "G optimizer"});
              }}})},
    {"six optimizers of one class", 200,
     repeat(200, {"render", "loss", "backward", kAdam, kAdam, kAdam, kAdam, kAdam, kAdam})},
    {"12 layers of one name", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) {
             p.op("embed");
             for (int k = 0; k < 12; ++k) p.ops({"attn", "mlp"}, 0.2);
             p.ops({"head", "xent", "descent"});
         }
     }},
    {"layers with digits", 200, repeat(200, {"layer1", "layer2", "layer3", "layer4", "out"})},
    {"500 ranges a turn", 100,
     [](Program& p) {
         for (int i = 0; i < 100; ++i) {
             for (int k = 0; k < 125; ++k)
                 p.ops({"aten::mul", "aten::add", "aten::mm", "aten::copy_"}, 0.01);
             p.ops({"loss", "backward", "optimizer"});
         }
     }},
    {"300 names a turn", 100,
     [](Program& p) {
         for (int i = 0; i < 100; ++i)
             for (int k = 0; k < 300; ++k)
                 p.op(std::string("op_") + static_cast<char>('a' + k % 26) +
                          static_cast<char>('a' + k / 26),
                      0.01);
     }},
    {"skipped optimizer steps", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) {
             p.ops({kLoader, "Net", "backward"});
             if (p.uniform() > 0.05) p.op(kAdam, 0.5);
         }
     },
     0.1},
};

const std::vector<Pattern> kNested{
    {"epochs", 200, nest(5, 40, "epoch", true)},
    {"main", 200, nest(1, 200, "main")},
    {"ten ranges of 50", 500, nest(10, 50, "tour")},
    {"main, epoch and batch", 200,
     [](Program& p) { p.around("main", [&] { nest(5, 40, "epoch", true)(p); }); }},
    {"a range around 4 micro steps", 100, nest(100, 4, "trip", false, {"fwd", "bwd"})},
    {"batch 17", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) p.op("batch " + std::to_string(i), 3);
     }},
    {"turn_17", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) p.op("turn_" + std::to_string(i), 3);
     }},
    {"ProfilerStep#17", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i)
             p.around("ProfilerStep#" + std::to_string(i), [&] {
                 p.ops({kLoader, "Net", "backward", kAdam});
             });
     }},
    {"step in step", 150,
     [](Program& p) {
         for (int i = 0; i < 150; ++i)
             p.around("train_step", [&] { p.around("train_step", [&] { p.op("train_step"); }); });
     }},
    {"a busier loader thread", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) {
             p.ops(kWords);
             p.clock(2) = std::max(p.clock(2), p.clock(1) - 4);
             for (const char* name : {"read", "decode", "collate"}) p.op(name, 1.2, 0.2, 2);
         }
     }},
    {"autograd's thread", 200,
     [](Program& p) {
         for (int i = 0; i < 200; ++i) {
             p.ops({kLoader, "Net"});
             p.clock(2) = p.clock(1);
             p.op("Net (backward)", 1, 0.2, 2);
             p.clock(1) = p.clock(2);
             p.op(kAdam, 0.5);
         }
     }},
    {"noise beside words", 300,
     [](Program& p) {
         for (int i = 0; i < 300; ++i)
             for (const char* name : {"forward", "backward", "optimizer"}) {
                 for (int k = std::max(0, p.between(-1, 2)); k > 0; --k)
                     p.op(p.one_of(Names{"lock", "gc run", "callback"}), 0.05);
                 p.op(name);
             }
     }},
    {"noise, no words", 300,
     [](Program& p) {
         for (int i = 0; i < 300; ++i)
             for (const std::string& name : kPlain) {
                 for (int k = p.one_of(std::vector<int>{0, 0, 1, 3}); k > 0; --k)
                     p.op(p.one_of(Names{"lock", "poll", "callback"}), 0.05);
                 p.op(name);
             }
     }},
};

void walk(Program& p, int depth) {
    for (int n = p.between(1, 3); n > 0; --n)
        p.op(p.one_of(Names{"f", "g", "h"}), 0.1, 0.2, Program::kMain, [&] {
            if (depth < 5 && p.uniform() < 0.6) walk(p, depth + 1);
        });
}

const std::vector<Pattern> kWithoutLoop{
    {"names at random", kNone,
     [](Program& p) {
         for (int i = 0; i < 2000; ++i)
             p.op(std::string("n") + static_cast<char>('a' + p.between(0, 7)), 1, 1);
     }},
    {"two names at random", kNone,
     [](Program& p) {
         for (int i = 0; i < 2000; ++i) p.op(p.one_of(Names{"p", "q"}), 1, 1);
     }},
    {"five handlers", kNone,
     [](Program& p) {
         for (int i = 0; i < 1500; ++i) {
             p.rest(3 * p.lognormal(1));
             p.op(std::string("GET /") + static_cast<char>('a' + p.between(0, 4)), 2, 1,
                  Program::kMain, [&] {
                      p.ops({"parse", "reply"}, 0.1);
                  });
         }
     }},
    {"one handler", kRequests,
     [](Program& p) {
         for (int i = 0; i < 1000; ++i) {
             p.rest(-3 * std::log(1 - p.uniform()));
             p.op("handle request", 2, 0.2, Program::kMain, [&] {
                 p.ops({"parse", "infer", "reply"}, 0.3);
             });
         }
     }},
    {"two kinds of request", kNone,
     [](Program& p) {
         for (int i = 0; i < 1500; ++i)
             p.ops(p.uniform() < 0.5 ? Names{"ask", "answer"} : Names{"put", "store"});
     }},
    {"recursion", kNone,
     [](Program& p) {
         for (int i = 0; i < 150; ++i) walk(p, 0);
     }},
    {"all different", kNone,
     [](Program& p) {
         for (int i = 0; i < 300; ++i) {
             std::string name = "stage ";
             for (int k = 0; k < 6; ++k) name += static_cast<char>('a' + p.between(0, 15));
             p.op(name);
         }
     }},
    {"three threads at random", kNone,
     [](Program& p) {
         for (int i = 0; i < 3000; ++i)
             p.op(std::string("n") + static_cast<char>('a' + p.between(0, 5)), 1, 2,
                  static_cast<std::uint32_t>(p.between(1, 3)));
     }},
    {"Markov chain", kNone,
     [](Program& p) {
         int s = 0;
         for (int i = 0; i < 3000; ++i) {
             s = (s + p.one_of(std::vector<int>{1, 1, 2, 3})) % 6;
             p.op(std::string("s") + static_cast<char>('a' + s));
         }
     }},
    {"three ranges", kNone, [](Program& p) { p.ops(kPlain); }},
};

class LoopGrid : public testing::TestWithParam<const std::vector<Pattern>*> {};

TEST_P(LoopGrid, EveryPatternHasItsTurns) {
    for (const Pattern& pattern : *GetParam())
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            Program program(seed);
            pattern.make(program);
            TraceStore store;
            program.into(store, [](std::int64_t) {});
            const Iterations found = find_iterations(store, 0);
            const auto where = testing::Message()
                               << pattern.name << ", seed " << seed << ": " << found.how;
            if (pattern.turns == kNone) {
                EXPECT_TRUE(found.items.empty()) << where;
            } else if (pattern.turns == kRequests) {
                EXPECT_EQ(found.kind, LoopKind::requests) << where;
                EXPECT_FALSE(found.items.empty()) << where;
            } else {
                EXPECT_NEAR(static_cast<double>(found.items.size()), pattern.turns,
                            1 + pattern.slack * pattern.turns)
                    << where;
            }
        }
}
INSTANTIATE_TEST_SUITE_P(All, LoopGrid,
                         testing::Values(&kStraight, &kTurnsOfSeveral, &kNested, &kWithoutLoop));

/// What is counted while a program runs, by loop.
std::map<std::string, std::size_t> counted_live(Program& program, TraceStore& store) {
    std::map<std::string, std::size_t> out;
    std::map<std::string, std::int64_t> until;
    IterationFollower follower(0);
    const auto look = [&](std::int64_t now, bool complete) {
        const Iterations news = follower.take(store, 0, now, complete);
        for (const Iteration& i : news.items) {
            EXPECT_GE(i.begin_ns, until[news.name]) << news.how << ": counted twice";
            EXPECT_LE(i.end_ns, now);
            until[news.name] = i.end_ns;
            ++out[news.name];
        }
    };
    std::int64_t now = 0;
    program.into(
        store, [&](std::int64_t end) { look(now = end, false); }, 40);
    look(now, true);
    return out;
}

// A loop that is found late comes whole; what was counted stays; nothing is counted twice.
TEST(Loops, AreCountedWhileTheyRunAsInTheFile) {
    for (const auto* patterns : {&kStraight, &kTurnsOfSeveral, &kNested})
        for (const Pattern& pattern : *patterns) {
            Program program(1);
            pattern.make(program);
            TraceStore store;
            const auto counted = counted_live(program, store);
            std::size_t best = 0, all = 0;
            for (const auto& [name, count] : counted) {
                all += count;
                best = std::max(best, count);
            }
            const Iterations file = find_iterations(store, 0);
            const auto at = counted.find(file.name);
            const std::size_t same = at == counted.end() ? 0 : at->second;
            const double wanted = pattern.turns, slack = 1 + pattern.slack * wanted;
            EXPECT_TRUE(std::abs(static_cast<double>(same) - wanted) <= slack ||
                        std::abs(static_cast<double>(all) - wanted) <= slack)
                << pattern.name << ": " << same << " of " << file.how << ", " << all << " in all";
            EXPECT_LE(counted.size(), 2u) << pattern.name;
        }
}

// Loaders of several workers hand their batches out in bursts.
TEST(Loops, OfEveryNumberOfWorkersAndBatchTime) {
    for (int workers = 1; workers <= 8; ++workers)
        for (const double batch_ms : {1.0, 5.0, 15.0, 30.0, 60.0}) {
            Program program(static_cast<std::uint64_t>(workers));
            torch_loop({.turns = 200, .workers = workers, .batch_ms = batch_ms})(program);
            TraceStore store;
            const auto counted = counted_live(program, store);
            const auto where = testing::Message() << workers << " workers, " << batch_ms << " ms";
            EXPECT_EQ(counted.size(), 1u) << where;
            EXPECT_NEAR(static_cast<double>(counted.begin()->second), 200, 1) << where;
            EXPECT_NEAR(static_cast<double>(find_iterations(store, 0).items.size()), 200, 1)
                << where;
            EXPECT_EQ(counted.begin()->first, kAdam) << where;
        }
}

}  // namespace
}  // namespace gs
