// From the text of one entry to its Program. Called functions become part of it, as often as they
// are called; what an instruction does is looked up in forms.h.
#pragma once

#include <memory>

#include "tests/support/ptx/program.h"
#include "tests/support/ptx/text.h"

namespace gs::ptx {

/// Sets Instruction::reconverge of every branch: the immediate post-dominator's first instruction.
void find_reconvergence(Program& program);

/// Error: an instruction that is not known, a name that is not declared, with the line.
Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const ModuleText> text,
                                              const Function& entry);

}  // namespace gs::ptx
