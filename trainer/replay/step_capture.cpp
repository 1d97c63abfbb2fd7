#include "trainer/replay/step_capture.h"

#include <algorithm>
#include <utility>

#include "base/machine.h"
#include "base/parallel.h"

namespace gs {
namespace {

/// What a file of a view of 100,000 Gaussians may take; the optimizer's part fills what is left.
constexpr double kMostFileBytes = 47.0 * (1 << 20);
constexpr std::size_t kLeastSample = 64;  // blocks

/// Blocks with a visible Gaussian, ascending.
Buffer<std::uint32_t> blocks_seen(const FrameProbe& lists) {
    Buffer<std::uint32_t> out;
    for (const std::uint32_t row : lists.rows)
        if (out.empty() || out[out.size() - 1] != row / kBlock)
            out.resize(out.size() + 1, row / static_cast<std::uint32_t>(kBlock));
    return out;
}

/// Rows of `blocks` of a model of `count`: all 16 of each but of its last.
std::size_t rows_of(std::span<const std::uint32_t> blocks, std::size_t count) {
    if (blocks.empty()) return 0;
    return (blocks.size() - 1) * kBlock + std::min(kBlock, count - blocks.back() * kBlock);
}

GaussianModel empty_like(const GaussianModel& like, std::span<const std::uint32_t> blocks) {
    GaussianModel out(rows_of(blocks, like.count), like.sh_degree, blocks.size() * kBlock);
    out.set_about(like);
    return out;
}

/// Which blocks' optimizer fits into the file: evenly spread, and few enough that the file stays
/// small.
Buffer<std::uint32_t> choose_sample(const StepInputs& in, const FrameProbe& lists) {
    const auto planes = static_cast<double>(in.model.planes());
    // About what packing leaves of each: measured on captures of real runs.
    const double others =
        3.5 * planes * static_cast<double>(in.model.count) +
        3.6 * (kStepGradientPlanes + kSplatPlanes) * static_cast<double>(lists.visible()) +
        2.5 * static_cast<double>(lists.row_from_isect.size()) +
        23.0 * in.camera.width * in.camera.height;
    const double of_block = 21.0 * planes * static_cast<double>(kBlock);
    const double fit = std::max(kMostFileBytes - others, 0.0) / of_block;
    const std::size_t all = in.blocks.size(),
                      wanted = std::min(all, std::max(kLeastSample, static_cast<std::size_t>(fit)));
    Buffer<std::uint32_t> out(wanted);
    for (std::size_t i = 0; i < wanted; ++i)
        out[i] = static_cast<std::uint32_t>(i * all / std::max<std::size_t>(wanted, 1));
    return out;
}

/// The sampled blocks of the arrays that a captured step holds, as they are stored in `from`.
RunArrays sampled(const RunArrays& from, std::span<const std::uint32_t> blocks) {
    RunArrays out = rows_like(from, rows_of(blocks, from.model.count), blocks.size() * kBlock);
    each_row_array(
        [](const RowArray& array, auto& values) {
            if (!array.step_entry) values = {};
        },
        out);
    each_row_column(
        [&](const auto& to, const auto& stored) {
            for (std::size_t i = 0; i < blocks.size(); ++i)
                std::copy_n(&stored[blocks[i] * kBlock], kBlock, &to[i * kBlock]);
        },
        out, from);
    return out;
}

/// The view's Gaussians as the step read them: with the steps they slept through.
void read_model(const StepRecord& record, Rasterizer& rasterizer, StepInputs& in,
                FrameProbe& lists) {
    RunArrays run = record.before;
    GaussianModel& model = run.model;
    LazyAdam adam(model, run.adam);
    adam.set_filter(record.before.filter.span());
    adam.begin_step(model, in.rates, plane_count(in.options.sh_degree));
    LazySource source(model, adam, in.options.sh_degree);
    const auto state = rasterizer.make_state();
    RenderResult picture;
    rasterizer.forward(source, in.camera, in.options, *state, picture);
    if (!rasterizer.probe(*state, lists)) return;
    in.blocks = blocks_seen(lists);
    in.model = empty_like(model, std::as_const(in.blocks).span());
    in.filter.resize(record.before.filter.empty() ? 0 : in.model.capacity, 0.0f);
    parallel_for(in.blocks.size(), 64, [&](std::size_t i) {
        alignas(64) float values[kMaxPlanes * kBlock];
        adam.read(model, in.blocks[i], 0, model.planes(), values);
        for (int p = 0; p < model.planes(); ++p)
            std::copy_n(values + static_cast<std::size_t>(p) * kBlock, kBlock,
                        in.model.plane(p) + i * kBlock);
        if (!in.filter.empty())
            std::copy_n(record.before.filter.data() + in.blocks[i] * kBlock, kBlock,
                        in.filter.data() + i * kBlock);
    });
}

/// What the run did to the sampled blocks takes the place of what was computed again.
void compare_with_run(const StepRecord& record, const RunArrays& after, CapturedStep& step) {
    StepOutputs run = step.outputs;
    run.values = after.model.values;
    run.moments = after.adam.moments;
    if (record.outcome.step != 0) run.terms = record.outcome.terms;
    StepOrigin& origin = step.origin;
    origin.same_bits = true;
    origin.agreement = "the same bits";
    for (const ComparisonRow& row : compare_steps(step.inputs, run, step.outputs)) {
        if (row.differ == 0) continue;
        origin.same_bits = false;
        origin.agreement = fmt::format("{}: {} of {} numbers differ, by {:.1e} relative; first {}",
                                       row.stage, row.differ, row.values, row.l2(), row.first);
        break;
    }
    step.outputs = std::move(run);
}

}  // namespace

std::string kind_of_backend(const std::string& name) {
    const bool threads = name.ends_with(" threads)") || name.ends_with(" thread)");
    return threads ? name.substr(0, name.rfind(", ")) + ")" : name;
}

Result<void> can_capture(const TrainingSettings& settings) {
    if (!settings.compact_moments) return {};
    return fail(ErrorKind::unsupported, "", "a step of compact moments cannot be captured",
                "train without --compact-moments");
}

Result<CapturedStep> capture_of(const StepRecord& record, const std::string& capture,
                                Rasterizer& rasterizer) {
    if (!record.problem.empty()) return fail(ErrorKind::unwritable, "", record.problem);
    if (record.plan.part.several())
        return fail(ErrorKind::unsupported, "",
                    fmt::format("a step of {} photos cannot be captured", record.plan.part.count),
                    "train with --batch 1");
    if (record.plan.beams)
        return fail(ErrorKind::unsupported, "",
                    "a step that also learns from a lidar cannot be captured",
                    "train with --lidar-weight 0");
    CapturedStep out;
    StepInputs& in = out.inputs;
    const View& view = *record.plan.view;
    in.step = record.plan.step;
    in.gaussians = record.before.model.count;
    in.camera = record.plan.camera;
    try {
        const LentPhoto lent = lend_photo(view);
        in.photo = lent.photo();
        in.mask = lent.mask();
    } catch (const PhotoError& error) {
        return fail(ErrorKind::unreadable, "", error.what());
    }
    in.options = record.plan.options;
    in.lambda_dssim = record.plan.lambda_dssim;
    if (record.plan.appearance.on())
        in.look = look_of_photo(record.before.appearance.values.data(), record.plan.appearance);
    in.rates = record.plan.rates;
    in.nudge = record.plan.nudge;
    FrameProbe lists;
    read_model(record, rasterizer, in, lists);
    if (in.blocks.empty())
        return fail(ErrorKind::unsupported, "",
                    fmt::format("{} shows no Gaussian: there is nothing to capture", view.name),
                    "capture another step");
    in.sample = choose_sample(in, lists);
    Buffer<std::uint32_t> sampled_blocks(in.sample.size());
    for (std::size_t i = 0; i < in.sample.size(); ++i) sampled_blocks[i] = in.blocks[in.sample[i]];
    const std::span<const std::uint32_t> blocks = std::as_const(sampled_blocks).span();
    in.before = sampled(record.before, blocks);
    out.origin.program = GAUSSCOPE_VERSION;
    out.origin.backend = rasterizer.name();
    out.origin.machine = processor_name();
    out.origin.capture = capture;
    out.origin.view = view.name;
    out.origin.settings = record.settings;
    out.origin.extent = record.extent;
    out.outputs = run_step(in, rasterizer);
    compare_with_run(record, sampled(record.after, blocks), out);
    return out;
}

}  // namespace gs
