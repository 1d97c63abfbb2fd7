// Field numbers: profile.proto of github.com/google/pprof.
#include "profiler/files/export_stacks.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "base/try.h"
#include "profiler/files/stack_sums.h"

namespace gs {
namespace {

using protozero::pbf_writer;

Result<StackSums> sums_of(const TraceStore& store, const fs::path& path) {
    if (store.samples().empty())
        return fail(ErrorKind::unsupported, path.string(), "the trace has no call stacks",
                    "record them with gausscope record --stacks");
    return stack_sums(store);
}

std::string process_name(const TraceStore& store, std::uint32_t process) {
    const TraceProcess& p = store.processes()[process];
    return fmt::format("{} ({})", p.name, p.pid);
}

std::string folded_line(const TraceStore& store, const StackPlace& place) {
    std::string out;
    const auto add = [&](std::string_view word) {
        if (!out.empty()) out += ';';
        for (const char c : word) out += c == ';' || static_cast<unsigned char>(c) < ' ' ? '_' : c;
    };
    add(process_name(store, place.process));
    add(thread_name(store, place.process, place.tid));
    for (const std::uint32_t range : place.ranges) add(store.name(range));
    const auto frames = frames_of(store.samples(), place.stack);
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
        const StackFrame& frame = store.samples().frames()[*f];
        add(frame.kind == FrameKind::python ? fmt::format("{} ({}:{})", store.name(frame.function),
                                                          store.name(frame.file), frame.line)
                                            : std::string(store.name(frame.function)));
    }
    return out;
}

/// A profile's strings, functions, modules and samples, as its samples come to need them.
class PprofWriter {
  public:
    PprofWriter(const TraceStore& store, TimeRange range) : store_(store), range_(range) {
        text("");
    }

    std::string write(const StackSums& sums) {
        type(1, "samples", "count");
        type(1, "cpu", "nanoseconds");
        type(1, "blocked", "nanoseconds");
        const std::string& program = store_.processes()[sums.begin()->first.process].name;
        const auto is_its = [&](auto& f) { return store_.name(f.module) == program; };
        const auto& frames = store_.samples().frames();
        const auto own = std::ranges::find_if(frames, is_its);
        if (!program.empty() && own != frames.end()) mapping(own->module);  // comes first
        for (const auto& [place, sum] : sums) sample(place, sum);
        out_.add_int64(9, range_.begin_ns + store_.sources().realtime_offset_ns());
        out_.add_int64(10, range_.end_ns - range_.begin_ns);
        type(11, "cpu", "nanoseconds");
        out_.add_int64(12, store_.samples().threads().front().samples.view().front().weight_ns);
        out_.add_int64(14, text("cpu"));
        for (const std::string* each : order_) out_.add_string(6, *each);
        return bytes_;
    }

  private:
    std::int64_t text(std::string_view word) {
        const auto [place, added] =
            texts_.try_emplace(std::string(word), static_cast<std::int64_t>(texts_.size()));
        if (added) order_.push_back(&place->first);
        return place->second;
    }
    void type(std::uint32_t field, const char* what, const char* unit) {
        const std::int64_t name = text(what), in = text(unit);
        pbf_writer t(out_, field);
        t.add_int64(1, name);
        t.add_int64(2, in);
    }
    std::uint64_t mapping(std::uint32_t module) {
        const auto [place, added] = mappings_.try_emplace(module, mappings_.size() + 1);
        if (!added) return place->second;
        const std::int64_t name = text(store_.name(module));
        pbf_writer m(out_, 3);
        m.add_uint64(1, place->second);
        m.add_int64(5, name);
        for (const std::uint32_t has : {7, 8, 9}) m.add_bool(has, true);
        return place->second;
    }
    std::uint64_t function(const StackFrame& frame) {
        const auto [place, added] =
            functions_.try_emplace({frame.function, frame.file}, functions_.size() + 1);
        if (!added) return place->second;
        const std::int64_t name = text(store_.name(frame.function));
        const std::int64_t file = text(store_.name(frame.file));
        pbf_writer f(out_, 5);
        f.add_uint64(1, place->second);
        f.add_int64(2, name);  // without the system's: pprof would shorten what it took for that
        f.add_int64(4, file);
        return place->second;
    }
    std::uint64_t location(std::uint32_t index) {
        const std::uint64_t id = std::uint64_t{index} + 1;
        if (locations_.size() <= index) locations_.resize(index + std::size_t{1});
        if (locations_[index]) return id;
        locations_[index] = true;
        const StackFrame& frame = store_.samples().frames()[index];
        const std::uint64_t in = mapping(frame.module), is = function(frame);
        pbf_writer l(out_, 4);
        l.add_uint64(1, id);
        l.add_uint64(2, in);
        pbf_writer line(l, 4);
        line.add_uint64(1, is);
        line.add_int64(2, frame.line);
        return id;
    }
    void sample(const StackPlace& place, const StackSum& sum) {
        std::vector<std::uint64_t> ids;
        for (const std::uint32_t f : frames_of(store_.samples(), place.stack))
            ids.push_back(location(f));
        const std::string range = ranges_text(store_, place);
        std::vector<std::pair<std::int64_t, std::int64_t>> labels{
            {text("process"), text(process_name(store_, place.process))},
            {text("thread"), text(thread_name(store_, place.process, place.tid))}};
        if (!range.empty()) labels.emplace_back(text("range"), text(range));
        const std::int64_t values[] = {sum.samples, sum.cpu_ns, sum.blocked_ns};
        pbf_writer s(out_, 2);
        s.add_packed_uint64(1, ids.begin(), ids.end());
        s.add_packed_int64(2, std::begin(values), std::end(values));
        for (const auto& [key, value] : labels) {
            pbf_writer l(s, 3);
            l.add_int64(1, key);
            l.add_int64(2, value);
        }
    }

    const TraceStore& store_;
    TimeRange range_;
    std::string bytes_;
    pbf_writer out_{bytes_};
    std::map<std::string, std::int64_t, std::less<>> texts_;
    std::vector<const std::string*> order_;
    std::map<std::uint32_t, std::uint64_t> mappings_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> functions_;
    std::vector<bool> locations_;
};

std::string gzipped(const std::string& bytes) {
    z_stream z{};
    constexpr int kGzip = 15 + 16, kMemory = 8;
    if (::deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        throw std::bad_alloc();
    std::string out(::deflateBound(&z, bytes.size()), '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    ::deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    ::deflateEnd(&z);
    return out;
}

}  // namespace

StackSums stack_sums(const TraceStore& store, TimeRange range) {
    StackSums out;
    for (const SampledThread& t : store.samples().threads())
        for (const StackSample& s : t.samples.view()) {
            if (!range.holds(s.time_ns)) continue;
            StackSum& sum =
                out[{t.process, t.tid, s.stack, ranges_at(store, t.process, t.tid, s.time_ns)}];
            ++sum.samples;
            (s.blocked ? sum.blocked_ns : sum.cpu_ns) += s.weight_ns;
        }
    return out;
}

std::string ranges_text(const TraceStore& store, const StackPlace& place) {
    std::string out;
    for (const std::uint32_t name : place.ranges)
        out += (out.empty() ? "" : " / ") + std::string(store.name(name));
    return out;
}

Result<void> export_folded_stacks(const TraceStore& store, const fs::path& path) {
    GS_TRY(const StackSums sums, sums_of(store, path));
    std::map<std::string, std::int64_t> lines;
    for (const auto& [place, sum] : sums)
        lines[folded_line(store, place)] += sum.cpu_ns + sum.blocked_ns;
    std::string out;
    for (const auto& [line, ns] : lines) out += fmt::format("{} {}\n", line, (ns + 500) / 1000);
    return write_text_file(path, out);
}

std::string pprof(const TraceStore& store, TimeRange range) {
    const StackSums sums = stack_sums(store, range);
    return sums.empty() ? std::string() : gzipped(PprofWriter(store, range).write(sums));
}

Result<void> export_pprof(const TraceStore& store, const fs::path& path) {
    GS_TRY(const StackSums sums, sums_of(store, path));
    const SampleBook& samples = store.samples();
    return write_text_file(
        path, gzipped(PprofWriter(store, {samples.begin_ns(), samples.end_ns()}).write(sums)));
}

}  // namespace gs
