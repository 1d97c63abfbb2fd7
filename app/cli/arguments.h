// What the command line said, as plain values, one struct per subcommand. parse.cpp fills them, the
// subcommands read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gs::cli {

struct CommonArguments {
    std::string backend = "auto";  ///< auto | cpu | cuda
    bool headless = false;
    bool json = false;  ///< last line on stdout: one JSON object
    std::optional<std::uint64_t> seed;
    std::string config;  ///< file of training settings, JSON or key = value lines
    int threads = 0;     ///< 0: all cores
    int verbose = 0;
};

/// How a capture is loaded: the same options wherever a CAPTURE is given.
struct CaptureArguments {
    std::string downscale = "auto";  ///< a whole number or "auto"
    int max_side = 0;
    std::string masks;
    std::optional<int> test_every;
    std::string test_views;  ///< names, comma separated
    std::string background;  ///< "r,g,b", each 0..1; empty: black
};

struct TrainArguments {
    std::string capture, output;
    CaptureArguments loading;
    std::vector<std::pair<std::string, double>>
        settings;  ///< named by the table in trainer/settings.h, as given
    std::uint64_t eval_every = 0, save_every = 5000;
    std::string resume;  ///< a checkpoint, or "auto"
    std::string trace;
    std::string profile_steps;  ///< "A:B", empty: none
    bool view = false;
};
struct ViewArguments {
    std::string path, capture, compare, output, script;
    std::vector<std::string> traces;    ///< opened beside the first path
    std::vector<std::uint32_t> attach;  ///< processes under the profiling service to show live
    CaptureArguments loading;
    std::vector<std::pair<std::string, double>> settings;
    int width = 0, height = 0;  ///< window size, 0: default
    double scale = 0;
};
/// How pictures are made; eval and render.
struct PictureArguments {
    std::string background, profile = "tight";
    int sh_degree = 3;
    double scale = 1;
    bool antialiased = false;
};
struct EvalArguments {
    std::string scene, capture;
    CaptureArguments loading;
    PictureArguments picture;
    bool all_views = false;
};
struct RenderArguments {
    std::string scene, output;
    std::string cameras, capture, path;  ///< cameras alone, or capture and/or path
    std::string format = "png";          ///< png | npy
    std::string maps;  ///< comma separated: color,alpha,depth,contributors,isects,pairs, or "all";
                       ///< empty: color for png, all for npy
    int width = 0, height = 0;
    double fov = 50;  ///< degrees, vertical, of --path
    CaptureArguments loading;
    PictureArguments picture;
    bool test_only = false;
};
struct ConvertArguments {
    std::string input, output;
    int lod = 0;          ///< level of a streamed set, 0 = finest
    int spz_version = 4;  ///< 3 or 4
    std::string verify;   ///< a capture or a file of cameras; empty: not verified
};
struct InfoArguments {
    std::string path;
    CaptureArguments loading;
    bool photos = false;  ///< decode every photo too
    bool strict = false;  ///< exit code 3 when something is found
    int lod = 0;          ///< level of a streamed set, 0 = finest
    std::string fix;      ///< where the mended splats go, empty: nowhere
};
struct SampleArguments {
    std::string folder;
    int views = 48, width = 640, height = 480, points = 20000;
    bool force = false;
};
struct BenchArguments {
    std::string scene, capture, compare, output;
    CaptureArguments loading;
    int repeats = 30;
    int width = 0, height = 0;
    double tolerance = 0.05;
};
struct TraceArguments {
    std::string file;
    std::string output;  ///< its end chooses the format; empty: none
    std::vector<std::string>
        others;  ///< read beside it on one clock; with `compare`: the second trace
    std::string stage_map;
    std::string baseline;
    bool insights = false, compare = false;
};
struct ServeArguments {
    std::string listen = "127.0.0.1:9465", folder = "gausscope-recordings", token_file;
    int max_disk_mib = 1024, memory_mib = 256;
    double before_s = 20, after_s = 2, cooldown_s = 60, step_factor = 3, budget_percent = 1;
    double seconds = 0;  ///< 0: until stopped
    bool no_rules = false;
};
struct RecordArguments {
    std::vector<std::string> command;
    std::string output;         ///< empty: named after the command
    std::string chain;          ///< another NVTX tool that gets the calls, too
    double budget_percent = 0;  ///< 0: none
    int memory_mib = 1024;
    bool insights = false, no_cupti = false;
};
struct AttachArguments {
    std::uint32_t pid = 0;  ///< 0: list who there is
    std::string output;
    double seconds = 0;  ///< headless: until stopped when 0
    std::optional<double> budget_percent;
    int memory_mib = 1024;
    bool release_cupti = false, acquire_cupti = false, insights = false;
};
struct SelftestArguments {
    bool quick = false;
};

struct Arguments {
    std::string command;  ///< "train", ...
    CommonArguments common;
    TrainArguments train;
    ViewArguments view;
    EvalArguments eval;
    RenderArguments render;
    ConvertArguments convert;
    InfoArguments info;
    SampleArguments sample;
    BenchArguments bench;
    TraceArguments trace;
    ServeArguments serve;
    RecordArguments record;
    AttachArguments attach;
    SelftestArguments selftest;
};

/// Fills `out`. A value means: stop here with this exit code (help was shown, or the usage was
/// wrong and said so).
std::optional<int> parse(int argc, const char* const* argv, Arguments& out);

}  // namespace gs::cli
