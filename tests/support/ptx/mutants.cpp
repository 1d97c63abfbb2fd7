#include "tests/support/ptx/mutants.h"

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/names.h"

namespace gs::ptx {
namespace {

void does_nothing(Warp&, const Instruction&) {}

bool removable(const Instruction& i) {
    return i.run == warp_barrier || (i.flow == Flow::barrier && i.barrier == BarrierKind::sync);
}
bool masked(const Instruction& i) { return i.run == shuffle || i.run == vote; }

}  // namespace

std::vector<Mutant> mutants_of(const Kernel& kernel) {
    std::vector<Mutant> mutants;
    const Program& program = *kernel.program();
    for (std::size_t n = 0; n < program.code.size(); ++n) {
        const Instruction& i = program.code[n];
        if (!removable(i) && !masked(i)) continue;
        const std::string opcode(program.locations[n].opcode);
        mutants.push_back({n, program.source(n),
                           masked(i) ? "lane 31 out of the mask of " + opcode : opcode + " removed",
                           masked(i)});
    }
    return mutants;
}

Kernel mutated(const Kernel& kernel, const Mutant& mutant) {
    auto changed = std::make_shared<Program>(*kernel.program());
    Instruction& victim = changed->code[mutant.instruction];
    if (masked(victim)) {
        victim.elements[0] = Registers(*changed).constant(4, 0x7fffffffu);
    } else {
        victim.flow = Flow::none;
        victim.run = does_nothing;
    }
    return Kernel(std::move(changed));
}

}  // namespace gs::ptx
