// A small table of kernels' costs, of round numbers, for the tests of the performance model.
#pragma once

#include "profiler/predict/kernel_costs.h"

namespace gs::test {

/// Every kernel that the model looks for, on architecture `architecture`, with loops where it looks
/// for loops.
inline KernelCosts round_costs(const std::string& architecture = "90") {
    std::string csv =
        "# made up\n"
        "architecture,file,kernel,loop,parent,depth,line,registers,shared,issue,fp32,half,int,mufu,"
        "lds,sts,ldg,stg,shfl,vote,atomic,control,other,stall,rounds\n";
    const auto row = [&](const std::string& kernel, const std::string& rest) {
        csv += architecture + ",made/up.cu," + kernel + "," + rest + "\n";
    };
    // loop,parent,depth,line,registers,shared,issue,fp32,half,int,mufu,lds,sts,ldg,stg,shfl,vote,
    // atomic,control,other,stall,rounds
    row("\"project<true, false>\"",
        ",,,,80,4132,2000,800,0,400,20,40,40,150,30,10,4,1,100,45,9000,40");
    row("\"project<false, false>\"",
        ",,,,80,4132,1000,400,0,200,10,40,40,90,30,10,4,1,50,0,5000,20");
    row("emit<unsigned short>", ",,,,50,24576,400,60,0,200,5,20,20,10,10,10,4,1,50,0,1800,4");
    for (const char* gradients : {"false", "true"}) {
        const std::string blend =
            std::string("\"blend<(Depths)0, false, ") + gradients + ", (Measured)0>\"";
        row(blend, ",,,,40,12288,340,60,0,120,5,10,6,10,6,0,6,0,40,0,1500,4");
        row(blend, "1,,1,10,,,200,50,0,70,3,5,3,3,1,0,4,0,20,0,900,2");
        row(blend, "2,1,2,20,,,110,40,0,30,3,5,0,0,1,0,3,0,10,0,500,0");
        row(blend, "3,2,3,30,,,38,16,0,11,1,3,0,0,0,0,0,0,4,0,130,0");
    }
    row("photo_loss", ",,,,80,39232,2700,900,0,500,4,532,40,20,10,0,0,0,60,0,9000,3");
    const std::string backward = "\"blend_backward_sub_tile<false, false, false>\"";
    row(backward, ",,,,62,30976,600,120,0,250,8,20,12,15,9,20,6,0,60,0,2400,5");
    row(backward, "1,,1,10,,,300,80,0,100,4,10,6,4,3,9,2,0,20,0,1200,2");
    row(backward, "2,1,2,20,,,84,44,0,15,2,3,1,0,0,9,0,0,4,0,300,0");
    row("\"project_backward<AdamSink, true>\"",
        ",,,,100,2848,5000,2000,0,900,80,30,30,300,180,10,4,1,100,0,20000,46");
    row("refresh_bounds", ",,,,31,0,300,90,0,60,6,0,0,20,4,10,2,0,20,0,1500,3");
    row("pack_rgba", ",,,,14,0,60,12,0,24,0,0,0,3,1,0,0,0,4,0,300,1");
    auto costs = KernelCosts::parse(csv, "made up");
    return costs ? *std::move(costs) : KernelCosts{};
}

}  // namespace gs::test
