// A small table of kernels' costs, of round numbers, for the tests of the performance model.
#pragma once

#include <gtest/gtest.h>

#include "profiler/predict/kernel_costs.h"

namespace gs::test {

/// Of sums of motion, the lists and their ranges, and tiles with several items.
template <class Row>
void add_sums_and_lists(Row&& row) {
    row("sum_motion<float>", "kernel,0,,24,2048,0,100,80,10,60,0,10,10,5,0,500,2");
    row("sum_motion<float>", "1,0,a.cu:9,,,1,20,20,4,12,0,0,0,1,0,90,1");
    for (const char* lens : {"", "_lens"}) {
        const std::string sums = std::string("sum_intrinsics") + lens + "<false>";
        row(sums, "kernel,0,,72,5168,0,1700,470,390,400,140,130,64,15,210,5100,13");
    }
    row("add_intrinsics", "kernel,0,,18,2048,0,130,130,0,57,8,9,9,1,22,460,5");
    row("add_intrinsics", "2,0,a.cu:71,,,1,23,23,0,14,0,0,0,4,1,63,1");
    row("sum_motion<double>", "kernel,0,,24,2048,0,100,80,10,60,0,10,10,5,0,500,2");
    const char* const emit = "emit<unsigned short>";
    row(emit, "kernel,0,,45,12420,0,780,400,75,376,23,11,7,20,25,2642,11");
    row(emit, "0,0,,,,0,360,260,0,180,12,8,4,5,20,1200,4");
    row(emit, "1,0,a.cu:170,,,1,80,40,0,42,0,0,1,5,0,290,3");
    row(emit, "2,1,a.cu:189,,,2,30,16,0,17,3,0,1,0,0,88,0");
    row(emit, "3,0,a.cu:199,,,1,75,41,0,41,0,2,0,7,0,258,3");
    row(emit, "4,3,a.cu:29,,,2,235,47,75,96,8,1,1,3,5,806,1");
    row("find_ranges", "kernel,0,,32,1292,0,300,60,0,200,6,3,3,10,3,900,3");
    row("find_ranges", "0,0,,,,0,180,60,0,130,6,3,3,3,3,600,3");
    row("find_ranges", "1,0,a.cu:51,,,1,120,120,0,70,0,0,0,7,0,300,1");
    row("make_items", "kernel,0,,56,2896,0,450,400,0,300,10,20,15,5,10,1200,3");
    row("make_items", "0,0,,,,0,420,380,0,280,10,20,15,1,10,1130,2");
    row("make_items", "1,0,a.cu:135,,,1,30,30,0,20,0,0,0,4,0,70,1");
    row("look_up_slots", "kernel,0,,16,0,0,30,30,0,20,0,0,0,2,0,300,2");
    const char* const composite = "composite<(Depths)0, false>";
    row(composite, "kernel,0,,62,12288,0,1100,240,590,200,40,96,3,33,0,3400,12");
    row(composite, "0,0,,,,0,20,20,0,10,0,0,0,2,0,90,2");
    row(composite, "1,0,a.cu:170,,,1,130,100,10,70,4,0,0,16,0,360,6");
    row(composite, "2,1,a.cu:99,,,2,80,40,20,16,0,0,0,11,0,280,3");
    row(composite, "3,2,a.cu:55,,,3,870,50,560,104,36,96,3,4,0,2700,1");
}

/// Of skies, and of beams with the sums of views that they are added to.
template <class Row>
void add_world(Row&& row) {
    for (const char* lens : {"", "_lens"}) {
        row(std::string("draw_sky") + lens, "kernel,0,,48,0,0,430,260,100,220,9,0,0,40,0,1100,14");
        const std::string pull = std::string("pull_sky") + lens;
        row(pull, "kernel,0,,148,768,0,1400,1000,460,440,9,1,48,60,240,2900,12");
        row(pull, "0,0,,,,0,1000,1000,290,350,0,1,48,4,240,1800,3");
        row(pull, "1,0,a.cu:24,,,1,400,20,170,90,9,0,0,56,0,1100,9");
    }
    row("step_sky", "kernel,0,,25,0,0,130,90,20,40,3,0,0,20,0,500,8");
    row("step_sky", "0,0,,,,0,106,66,20,30,3,0,0,16,0,420,7");
    row("step_sky", "1,0,a.cu:75,,,1,24,24,0,10,0,0,0,4,0,80,1");
    for (const char* kernel : {"count_beam_pairs<false>", "emit_beam_pairs<false>"})
        row(kernel, "kernel,0,,60,0,0,1600,130,640,350,70,0,0,110,0,5500,16");
    row("find_beam_lists", "kernel,0,,12,0,0,60,45,0,20,0,0,0,6,0,280,4");
    row("trace_beams", "kernel,0,,66,10240,0,370,190,63,96,4,5,5,39,0,1200,31");
    row("trace_beams", "0,0,,,,0,168,100,5,61,1,0,0,15,0,500,30");
    row("trace_beams", "1,0,a.cu:180,,,1,110,20,1,22,0,0,5,22,0,440,0");
    row("trace_beams", "2,1,a.cu:147,,,2,92,73,57,13,3,5,0,2,0,260,1");
    const char* const back = "trace_beams_backward";
    row(back, "kernel,0,,78,10768,0,740,350,160,320,6,20,7,50,4,2700,13");
    row(back, "0,0,,,,0,110,67,8,43,2,0,0,20,0,340,10");
    row(back, "1,0,a.cu:278,,,1,186,14,5,69,0,6,6,22,0,640,0");
    row(back, "2,1,a.cu:287,,,2,243,20,136,49,4,6,1,6,0,570,2");
    row(back, "3,2,a.cu:251,,,3,146,140,4,130,0,0,0,0,4,800,1");
    row(back, "4,1,a.cu:300,,,2,55,55,8,30,0,8,0,2,0,160,0");
    row("add_beams<false>", "kernel,0,,84,0,0,840,570,310,150,28,0,0,87,0,2600,17");
    row("add_beams<false>", "1,0,a.cu:348,,,1,85,85,0,5,0,0,0,26,0,350,1");
    row("project_backward<BatchSink, true>",
        "kernel,0,,100,2848,0,4000,500,1600,700,60,30,30,290,10,16000,36");
    row("refresh_bounds<false>", "kernel,0,,31,0,0,300,100,90,60,6,0,0,20,10,1500,3");
    row("step_batch<false>", "kernel,0,,60,0,0,600,100,90,200,20,0,0,30,0,2500,5");
}

/// Every kernel that the model looks for, on `architecture`, with loops where it looks for loops.
inline KernelCosts round_costs(const std::string& architecture = "90") {
    std::string csv =
        "# made up\n"
        "architecture,file,kernel,loop,parent,line,registers,shared,depth,issue,least,fp32,int,"
        "mufu,lds,sts,ldg,shfl,stall,rounds\n";
    const auto row = [&](const std::string& kernel, const std::string& rest) {
        csv += architecture + ",made/up.cu,\"" + kernel + "\"," + rest + "\n";
    };
    row("project<true, false, false>",
        "kernel,0,,80,4132,0,2000,20,800,400,20,40,40,150,10,9000,40");
    row("project<false, false, false>",
        "kernel,0,,80,4132,0,1000,20,400,200,10,40,40,90,10,5000,20");
    row("project_lens<true, false>",
        "kernel,0,,128,4660,0,3500,20,1600,700,60,40,40,150,10,14000,40");
    row("project_lens<false, false>",
        "kernel,0,,128,4660,0,2500,20,1200,500,50,40,40,90,10,10000,20");
    for (const char* gradients : {"true", "false"}) {
        const std::string points = std::string("project_unscented<") + gradients + ", false>";
        row(points, "kernel,0,,128,4660,0,3500,20,1600,700,60,40,40,150,10,14000,40");
        row(points, "1,0,a.h:9,,,1,1700,10,800,350,30,20,20,40,0,6000,20");
        row(points, "2,1,a.h:5,,,2,300,10,100,50,3,0,0,4,0,600,2");
    }
    row("compact", "kernel,0,,32,4136,0,600,200,0,300,15,6,10,20,20,2000,6");
    for (const char* key : {"int", "short"})
        row(std::string("radix_pass<unsigned ") + key + ">",
            "kernel,0,,64,25000,0,1200,500,0,800,20,60,50,27,10,4000,5");
    for (const char* gradients : {"false", "true"}) {
        const std::string blend = std::string("blend<(Depths)0, false, ") + gradients + ", 0>";
        row(blend, "kernel,0,,40,12288,0,340,60,116,191,11,21,9,11,0,1500,4");
        row(blend, "0,0,,,,0,140,30,10,90,3,8,3,8,0,500,2");
        row(blend, "1,0,a.cu:72,,,1,90,20,10,60,2,4,4,3,0,400,2");
        row(blend, "2,1,a.cu:85,,,2,72,20,40,30,3,6,2,0,0,370,0");
        row(blend, "3,2,a.cu:90,,,3,38,21,16,11,1,3,0,0,0,130,0");
    }
    row("photo_loss", "kernel,0,,80,39232,0,2700,200,900,500,4,532,40,20,0,9000,3");
    const std::string backward = "blend_backward<false, false>";
    row(backward, "kernel,0,,62,30976,0,600,100,120,250,8,20,12,15,9,2400,5");
    row(backward, "0,0,,,,0,300,50,20,190,4,5,3,9,0,900,2");
    row(backward, "4,0,a.cu:134,,,1,195,80,35,105,2,12,8,6,0,500,3");
    row(backward, "5,4,a.cu:149,,,2,84,84,54,9,4,3,1,0,9,203,0");
    row("project_backward<AdamSink, true>",
        "kernel,0,,100,2848,0,5000,500,2000,900,80,30,30,300,10,20000,46");
    row("project_backward<StoringSink, false>",
        "kernel,0,,90,2848,0,2000,200,1000,400,30,30,30,90,10,8000,14");
    for (const char* kernel :
         {"project_backward<AdamMotionSink, true>", "project_backward_lens<AdamSink, true>",
          "project_backward_lens<AdamMotionSink, true>"})
        row(kernel, "kernel,0,,168,3376,0,6500,500,2500,1200,100,30,30,300,10,26000,50");
    const std::string points = "project_backward_unscented<AdamSink, true>";
    row(points, "kernel,0,,168,3376,0,6500,500,2500,1200,100,30,30,300,10,26000,50");
    row(points, "1,0,a.h:9,,,1,2200,10,900,450,40,20,20,40,0,8000,20");
    add_sums_and_lists(row);
    add_world(row);
    row("show_look", "kernel,0,,72,168,0,1300,130,760,250,50,10,10,15,0,3500,14");
    row("pull_look", "kernel,0,,153,1512,0,2800,800,1260,500,70,15,50,30,200,7600,23");
    row("pull_look", "1,0,a.cu:52,,,1,1060,170,575,190,27,0,0,20,0,3000,14");
    row("step_look", "kernel,0,,80,348,0,2200,300,700,900,90,16,12,20,0,6000,37");
    row("pack_rgba", "kernel,0,,14,0,0,60,60,12,24,0,0,0,3,0,300,1");
    auto costs = KernelCosts::parse(csv, "made up");
    if (!costs) {
        ADD_FAILURE() << costs.error().text();
        return {};
    }
    return *std::move(costs);
}

}  // namespace gs::test
