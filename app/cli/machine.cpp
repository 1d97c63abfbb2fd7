#include "app/cli/machine.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include "app/backend/program_commit.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "renderer/device/cuda/device.h"
#include "renderer/raster/rasterizer.h"

#ifndef GAUSSCOPE_VERSION
#define GAUSSCOPE_VERSION "unknown"
#endif

namespace gs::cli {
namespace {

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Json device_json(const CudaListing& listed, bool used) {
    Json out{{"index", listed.index},
             {"name", listed.name},
             {"architecture", fmt::format("sm_{}{}", listed.compute_major, listed.compute_minor)},
             {"memory_bytes", listed.total_bytes},
             {"uuid", listed.uuid},
             {"used", used}};
    if (!used) return out;
    const auto info = cuda_device_info(listed.index);
    if (!info) {
        out["problem"] = info.error().text();
        return out;
    }
    out["multiprocessors"] = info->multiprocessors;
    out["clock_mhz"] = info->clock_khz / 1000;
    out["memory_clock_mhz"] = info->memory_clock_khz / 1000;
    out["memory_bus_bits"] = info->memory_bus_bits;
    out["l2_bytes"] = info->l2_bytes;
    out["shared_bytes_per_block"] = info->shared_bytes_per_block;
    out["free_bytes"] = info->free_bytes;
    return out;
}

Json cuda_json(int used) {
    Json out{{"driver", nullptr}, {"runtime", nullptr}, {"problem", nullptr}};
    Json& devices = out["devices"] = Json::array();
    const auto listed = cuda_devices();
    if (!listed) {
        out["problem"] = listed.error().text();
        return out;
    }
    for (const CudaListing& device : *listed)
        devices.push_back(device_json(device, device.index == used));
    if (used < 0) return out;
    if (const auto info = cuda_device_info(used)) {
        out["driver"] = version_text(info->driver_version);
        out["runtime"] = version_text(info->runtime_version);
    } else {
        out["problem"] = info.error().text();
    }
    return out;
}

}  // namespace

Json machine_json(int used) {
    utsname system{};
    (void)uname(&system);
    return {{"program", GAUSSCOPE_VERSION},
            {"commit", program_commit()},
            {"compiler", __VERSION__},
            {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
            {"host", host_name()},
            {"processor", processor_name()},
            {"cpu", make_cpu_rasterizer()->name()},
            {"threads", thread_count()},
            {"cuda", cuda_json(used)}};
}

void say_machine(const Json& machine, std::FILE* to) {
    say("gausscope {program}, commit {commit}, compiler {compiler}", machine, to);
    say("{system}", machine, to);
    say("{processor}, {host}", machine, to);
    say("{cpu}", machine, to);
    const Json& cuda = machine["cuda"];
    if (!cuda["driver"].is_null()) say("CUDA driver {driver}, runtime {runtime}", cuda, to);
    if (!cuda["problem"].is_null()) say("CUDA: {problem}", cuda, to);
    for (const Json& device : cuda["devices"]) {
        say("GPU {index}: {name}, {architecture}, {memory_bytes:bytes}", device, to);
        if (device.contains("multiprocessors"))
            say("  computes: {multiprocessors} multiprocessors, {clock_mhz} MHz, memory "
                "{memory_clock_mhz} "
                "MHz x {memory_bus_bits} bits, L2 {l2_bytes:bytes}, {free_bytes:bytes} free",
                device, to);
    }
}

}  // namespace gs::cli
