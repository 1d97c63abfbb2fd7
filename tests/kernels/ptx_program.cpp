#include "tests/kernels/ptx_program.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gs::ptx {

std::string ptx_program(const std::string& body, const std::string& declarations,
                        const std::string& functions) {
    return ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"kernel.cu\"\n" + functions +
           ".visible .entry k(\n\t.param .align 8 .b8 k_param_0[16]\n)\n.maxntid 256, 1, 1\n{\n"
           ".reg .b16 %h<20>;\n.reg .b32 %r<20>;\n.reg .b64 %d<20>;\n.reg .pred %p<20>;\n"
           ".reg .b64 %in;\n.reg .b64 %out;\n.reg .b64 %mine;\n.reg .b32 %t;\n" +
           declarations +
           "\nld.param.u64 %in, [k_param_0];\nld.param.u64 %out, [k_param_0+8];\n"
           "mov.u32 %t, %tid.x;\nmul.wide.u32 %mine, %t, 4;\nadd.s64 %mine, %mine, %out;\n" +
           body + "\nret;\n}\n";
}

std::vector<FaultKind> PtxRun::kinds() const {
    std::vector<FaultKind> all;
    for (const Fault& fault : report.faults) all.push_back(fault.kind);
    return all;
}

PtxRun run_ptx(const std::string& text, Grid grid, const std::vector<std::uint32_t>& in,
               std::size_t out, const Options& options) {
    PtxRun run;
    const auto module = Module::parse(text, "test.ptx");
    EXPECT_TRUE(module.has_value()) << module.error().text();
    const auto kernel = module->find("k");
    EXPECT_TRUE(kernel.has_value()) << kernel.error().text();
    if (!kernel) return run;
    Memory memory;
    Region from{kInAddress, std::vector<std::byte>(in.size() * 4), {}, "in"};
    std::memcpy(from.bytes.data(), in.data(), from.bytes.size());
    memory.add(std::move(from));
    memory.add(
        {kOutAddress, std::vector<std::byte>(out * 4), std::vector<std::uint8_t>(out * 4), "out"});
    const std::uint64_t parameters[2] = {kInAddress, kOutAddress};
    run.report = execute(*kernel, grid, std::as_bytes(std::span(parameters)), memory, options);
    const Region* left = memory.find(kOutAddress, out * 4);
    run.out.resize(out);
    std::memcpy(run.out.data(), left->bytes.data(), out * 4);
    run.out_written = left->written;
    return run;
}

}  // namespace gs::ptx
