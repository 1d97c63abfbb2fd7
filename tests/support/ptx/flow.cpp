// Where lanes that part at a branch meet again: immediate post-dominators, by the iteration of
// Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm") on the graph turned around.

#include "tests/support/ptx/decode.h"

namespace gs::ptx {
namespace {

struct Graph {
    std::vector<int> first;                       ///< instruction of each block
    std::vector<std::vector<int>> after, before;  ///< the last block is where everything ends
    std::vector<int> block_of;                    ///< by instruction
};

bool leaves(const Instruction& i) {
    return i.flow == Flow::branch || i.flow == Flow::end || i.flow == Flow::trap;
}

Graph graph_of(const Program& program) {
    const std::size_t size = program.code.size();
    std::vector<char> begins(size + 1, 0);
    begins[0] = 1;
    for (std::size_t n = 0; n < size; ++n) {
        const Instruction& i = program.code[n];
        if (leaves(i)) begins[n + 1] = 1;
        if (i.flow == Flow::branch) begins[static_cast<std::size_t>(i.target)] = 1;
    }
    Graph graph;
    graph.block_of.resize(size + 1);
    for (std::size_t n = 0; n < size; ++n) {
        if (begins[n]) graph.first.push_back(static_cast<int>(n));
        graph.block_of[n] = static_cast<int>(graph.first.size()) - 1;
    }
    const int end = static_cast<int>(graph.first.size());
    graph.block_of[size] = end;
    graph.after.resize(graph.first.size() + 1);
    graph.before.resize(graph.first.size() + 1);
    const auto join = [&](int from, int to) {
        graph.after[static_cast<std::size_t>(from)].push_back(to);
        graph.before[static_cast<std::size_t>(to)].push_back(from);
    };
    for (std::size_t n = 0; n < size; ++n) {
        if (!leaves(program.code[n]) && !begins[n + 1]) continue;
        const Instruction& i = program.code[n];
        if (i.flow == Flow::branch) {
            join(graph.block_of[n], graph.block_of[static_cast<std::size_t>(i.target)]);
        }
        if (i.flow == Flow::end || i.flow == Flow::trap) join(graph.block_of[n], end);
        if (!leaves(i) || i.guarded) join(graph.block_of[n], graph.block_of[n + 1]);
    }
    return graph;
}

/// Blocks in the order in which a walk from the end, against the arrows, leaves them.
std::vector<int> postorder_from_end(const Graph& graph) {
    std::vector<int> order;
    std::vector<char> seen(graph.before.size(), 0);
    std::vector<std::pair<int, std::size_t>> stack{{static_cast<int>(graph.first.size()), 0}};
    seen.back() = 1;
    while (!stack.empty()) {
        auto& [block, next] = stack.back();
        const auto& before = graph.before[static_cast<std::size_t>(block)];
        if (next == before.size()) {
            order.push_back(block);
            stack.pop_back();
            continue;
        }
        const int to = before[next++];
        if (!seen[static_cast<std::size_t>(to)]) {
            seen[static_cast<std::size_t>(to)] = 1;
            stack.emplace_back(to, 0);
        }
    }
    return order;
}

/// The immediate post-dominator of each block; -1 for those that never end.
std::vector<int> post_dominators(const Graph& graph) {
    const std::vector<int> order = postorder_from_end(graph);
    std::vector<int> rank(graph.after.size(), -1), dominator(graph.after.size(), -1);
    for (std::size_t n = 0; n < order.size(); ++n) {
        rank[static_cast<std::size_t>(order[n])] = static_cast<int>(n);
    }
    const auto at = [](std::vector<int>& of, int block) -> int& {
        return of[static_cast<std::size_t>(block)];
    };
    const int end = static_cast<int>(graph.first.size());
    at(dominator, end) = end;
    for (bool changed = true; changed;) {
        changed = false;
        for (auto block = order.rbegin() + 1; block < order.rend(); ++block) {
            int meet = -1;
            for (int next : graph.after[static_cast<std::size_t>(*block)]) {
                if (at(dominator, next) < 0) continue;
                if (meet < 0) {
                    meet = next;
                    continue;
                }
                for (int other = next; meet != other;) {
                    if (at(rank, meet) < at(rank, other))
                        meet = at(dominator, meet);
                    else
                        other = at(dominator, other);
                }
            }
            if (at(dominator, *block) != meet) {
                at(dominator, *block) = meet;
                changed = true;
            }
        }
    }
    return dominator;
}

}  // namespace

void find_reconvergence(Program& program) {
    const Graph graph = graph_of(program);
    const std::vector<int> dominator = post_dominators(graph);
    const int end = static_cast<int>(graph.first.size());
    for (std::size_t n = 0; n < program.code.size(); ++n) {
        Instruction& i = program.code[n];
        if (i.flow != Flow::branch) continue;
        const int meet = dominator[static_cast<std::size_t>(graph.block_of[n])];
        i.reconverge = meet < 0 || meet == end ? -1 : graph.first[static_cast<std::size_t>(meet)];
    }
}

}  // namespace gs::ptx
