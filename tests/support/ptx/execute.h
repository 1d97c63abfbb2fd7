// Executes what nvcc made of our kernels: PTX, instruction by instruction, without a GPU. Written
// from the PTX ISA document. Where the emulator (tests/support/emulator) compiles the source with
// the host's compiler, this sees what nvcc's front end did to it: fused multiply-adds, flushed
// denormals, if-conversion, hoisted and widened loads, libdevice; it checks every access, and
// counts what warps issue by line of source. What ptxas makes of the PTX it does not see.
//
//   auto module = Module::parse(text);                     // a .ptx file
//   const Kernel* kernel = module->find("blend");          // mangled, or readable without
//   arguments Report report = execute(*kernel, {blocks, threads}, parameters, memory);
//
// Called by the tests of the kernels (launches captured in the emulator, by mutants of the PTX).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "tests/support/ptx/memory.h"

namespace gs::ptx {

struct Program;     // decoded instructions (program.h)
struct ModuleText;  // taken apart (text.h)

/// One entry of a module, decoded.
class Kernel {
  public:
    explicit Kernel(std::shared_ptr<const Program> program);
    const std::string& name() const;      ///< mangled, as nvcc named it
    std::size_t parameter_bytes() const;  ///< of its one struct
    int most_threads() const;             ///< .maxntid; 0 where it has none
    std::size_t shared_bytes() const;     ///< static
    std::size_t instructions() const;     ///< in it, called functions included
    const std::shared_ptr<const Program>& program() const { return program_; }

  private:
    std::shared_ptr<const Program> program_;
};

/// A .ptx file. Entries are decoded when they are asked for.
class Module {
  public:
    /// `name` is for messages (the path). Error: malformed, with its line.
    static Result<Module> parse(std::string text, std::string name);
    static Result<Module> read(const std::string& path);
    /// Mangled names in the order of the file.
    std::vector<std::string> entries() const;
    /// The entry of that mangled name. Errors: no such entry; an instruction that the executor does
    /// not know, with its line.
    Result<Kernel> find(std::string_view mangled) const;

  private:
    std::shared_ptr<const ModuleText> text_;
};

enum class FaultKind {
    out_of_bounds,       ///< an access outside every region, shared array or the parameters
    misaligned,          ///< an address that is no multiple of what is read or written at once
    uninitialised,       ///< a value that nobody wrote decides, addresses, or goes to memory
    shared_race,         ///< two threads, one cell of shared memory, no barrier between, one writes
    barrier_divergence,  ///< threads of a block wait at different barriers, or some have ended
    bad_mask,            ///< a lane runs a *_sync instruction that is not in its mask
    absent_lane,         ///< a lane of the mask is not there
    absent_source,       ///< a shuffle reads a lane that does not take part
    trap,
    endless,  ///< a warp passed Options::most_instructions
};
std::string_view word(FaultKind kind);

/// Where an instruction came from.
struct Source {
    int ptx_line = 0;  ///< 1-based line of the .ptx
    std::string file;  ///< as the compiler was given it; empty where the PTX has no .loc
    int line = 0;
};

/// One kind of fault at one instruction; the first of them in detail.
struct Fault {
    FaultKind kind{};
    Source source;
    std::string instruction;  ///< as written
    int block = 0, thread = 0;
    std::string detail;        ///< address, values, the other thread
    std::uint64_t count = 1;   ///< how often it happened
    std::string text() const;  ///< in one line
};

/// What warps did at an instruction or line, or in all.
struct Counts {
    std::uint64_t issued = 0;      ///< instructions issued by warps
    std::uint64_t lanes = 0;       ///< active lanes of them, added up
    std::uint64_t sectors = 0;     ///< of 32 bytes, read or written in global memory
    std::uint64_t wavefronts = 0;  ///< passes over the 32 banks of shared memory
    std::uint64_t conflicts = 0;   ///< wavefronts beyond those that the bytes alone need
    std::uint64_t atomics = 0;     ///< lanes' atomic operations
    Counts& operator+=(const Counts& more);
};

/// The views are of what Report::program holds.
struct InstructionCounts {
    int ptx_line = 0;
    std::string_view file;  ///< empty where the PTX has no .loc
    int line = 0;
    std::string_view opcode;  ///< "fma.rn.f32"
    Counts counts;
};

struct LineCounts {
    std::string file;
    int line = 0;
    Counts counts;
};

struct Report {
    std::vector<Fault> faults;
    std::vector<InstructionCounts> instructions;  ///< in the order of the program
    Counts total;
    std::shared_ptr<const Program> program;
    /// The same by line of source, the heaviest first.
    std::vector<LineCounts> by_line() const;
    /// Everything that the same kernel did in another launch, added.
    void add(const Report& other);
};

struct Grid {
    unsigned blocks = 1, threads = 32;
};

struct Options {
    std::uint64_t seed = 0;                         ///< order of warps; 0: ascending
    std::uint64_t most_instructions = 200'000'000;  ///< of one warp
    std::size_t most_faults = 16;                   ///< kinds of fault that are kept
    bool stop_at_fault = false;                     ///< the first ends the launch
};

/// Runs the whole grid, blocks one after another. `parameters`: kernel.parameter_bytes() bytes
/// (CHECK). `memory` is left as the kernel leaves it; an access that is a fault reads zeros and
/// writes nothing, and the run continues.
Report execute(const Kernel& kernel, Grid grid, std::span<const std::byte> parameters,
               Memory& memory, const Options& options = {});

}  // namespace gs::ptx
