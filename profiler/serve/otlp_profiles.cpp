// Field numbers: profiles.proto and profiles_service.proto of opentelemetry-proto; those of 1.45.2.
#include "profiler/serve/otlp_profiles.h"

#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "profiler/files/stack_sums.h"
#include "profiler/serve/metrics.h"
#include "profiler/serve/otlp.h"

namespace gs::serve {
namespace {

using protozero::pbf_writer;

/// Entries by what they stand for; their numbers are their places, 0 is none.
template <class Key>
class Table {
  public:
    /// `write` describes a new entry.
    template <class Write>
    std::int32_t place(const Key& key, const Write& write) {
        const auto [at, added] =
            places_.try_emplace(key, static_cast<std::int32_t>(places_.size() + 1));
        if (added) entries_.push_back(write());
        return at->second;
    }
    void add_to(pbf_writer& dictionary, std::uint32_t field) const {
        dictionary.add_message(field, std::string());
        for (const std::string& entry : entries_) dictionary.add_message(field, entry);
    }

  private:
    std::map<Key, std::int32_t> places_;
    std::vector<std::string> entries_;
};

class ProfilesWriter {
  public:
    ProfilesWriter(const TraceStore& store, TimeRange range) : store_(store), range_(range) {}

    std::string write(const StackSums& sums, const Labels& resource) {
        std::string out;
        pbf_writer request(out);
        for (auto first = sums.begin(); first != sums.end();) {
            auto last = first;
            while (last != sums.end() && last->first.process == first->first.process) ++last;
            request.add_message(1, of_process(first, last, resource));
            first = last;
        }
        pbf_writer dictionary(request, 2);
        mappings_.add_to(dictionary, 1);
        locations_.add_to(dictionary, 2);
        functions_.add_to(dictionary, 3);
        Table<int>().add_to(dictionary, 4);  // links
        strings_.add_to(dictionary, 5);      // a text is encoded as a message is
        attributes_.add_to(dictionary, 6);
        stacks_.add_to(dictionary, 7);
        return out;
    }

  private:
    using Each = StackSums::const_iterator;

    std::string of_process(Each first, Each last, const Labels& resource) {
        const TraceProcess& process = store_.processes()[first->first.process];
        Labels labels = resource;
        std::erase_if(labels, [](const auto& pair) { return pair.first == "service.name"; });
        labels.emplace_back("service.name", process.labels.job_name.empty()
                                                ? process.name
                                                : process.labels.job_name);
        for (auto& label : labels_of(process)) labels.push_back(std::move(label));
        labels.emplace_back("process.pid", std::to_string(process.visible_pid));
        std::string out;
        pbf_writer of(out);
        of.add_message(1, otlp_resource(labels));
        pbf_writer scope(of, 2);
        scope.add_message(1, [] {
            std::string name;
            pbf_writer(name).add_string(1, "gausscope");
            return name;
        }());
        for (const auto& [type, sum] :
             {std::pair{"cpu", &StackSum::cpu_ns}, {"off_cpu", &StackSum::blocked_ns}})
            if (const std::string samples = samples_of(first, last, sum); !samples.empty())
                scope.add_message(2, profile(type) + samples);
        return out;
    }

    std::int32_t text(std::string_view word) {
        if (word.empty()) return 0;
        return strings_.place(std::string(word), [&] { return std::string(word); });
    }
    std::string value_type(const char* type) {
        const std::int32_t name = text(type), unit = text("nanoseconds");
        std::string out;
        pbf_writer of(out);
        of.add_int32(1, name);
        of.add_int32(2, unit);
        return out;
    }
    std::string profile(const char* type) {
        std::string out;
        pbf_writer of(out);
        of.add_message(1, value_type(type));
        of.add_fixed64(
            3, static_cast<std::uint64_t>(range_.begin_ns + store_.sources().realtime_offset_ns()));
        of.add_uint64(4, static_cast<std::uint64_t>(range_.end_ns - range_.begin_ns));
        return out;
    }
    std::string samples_of(Each first, Each last, std::int64_t StackSum::*sum) {
        std::string out;
        for (; first != last; ++first) {
            const auto& [place, sums] = *first;
            if (sums.*sum <= 0) continue;
            const std::int32_t stack_index = stack(place.stack);
            std::vector<std::int32_t> attributes{
                attribute("thread.name", thread_name(store_, place.process, place.tid))};
            if (const std::string ranges = ranges_text(store_, place); !ranges.empty())
                attributes.push_back(attribute("gausscope.range", ranges));
            pbf_writer profile(out);
            pbf_writer sample(profile, 2);
            sample.add_int32(1, stack_index);
            sample.add_packed_int32(2, attributes.begin(), attributes.end());
            sample.add_packed_int64(4, &(sums.*sum), &(sums.*sum) + 1);
        }
        return out;
    }
    std::int32_t attribute(const char* key, const std::string& value) {
        const std::int32_t name = text(key);
        return attributes_.place({key, value}, [&] {
            std::string out;
            pbf_writer of(out);
            of.add_int32(1, name);
            pbf_writer(of, 2).add_string(1, value);
            return out;
        });
    }
    std::int32_t stack(std::uint32_t index) {
        return stacks_.place(index, [&] {
            std::vector<std::int32_t> places;
            for (const std::uint32_t frame : frames_of(store_.samples(), index))
                places.push_back(location(frame));
            std::string out;
            pbf_writer(out).add_packed_int32(1, places.begin(), places.end());
            return out;
        });
    }
    std::int32_t location(std::uint32_t index) {
        return locations_.place(index, [&] {
            const StackFrame& frame = store_.samples().frames()[index];
            const std::int32_t module = mapping(frame.module), code = function(frame);
            std::string out;
            pbf_writer of(out);
            of.add_int32(1, module);
            pbf_writer line(of, 3);
            line.add_int32(1, code);
            line.add_int64(2, frame.line);
            return out;
        });
    }
    std::int32_t mapping(std::uint32_t module) {
        return mappings_.place(module, [&] {
            const std::int32_t name = text(store_.name(module));
            std::string out;
            pbf_writer(out).add_int32(4, name);
            return out;
        });
    }
    std::int32_t function(const StackFrame& frame) {
        return functions_.place({frame.function, frame.file}, [&] {
            const std::int32_t name = text(store_.name(frame.function)),
                               file = text(store_.name(frame.file));
            std::string out;
            pbf_writer of(out);
            of.add_int32(1, name);
            of.add_int32(3, file);
            return out;
        });
    }

    const TraceStore& store_;
    TimeRange range_;
    Table<std::uint32_t> mappings_, locations_, stacks_;
    Table<std::pair<std::uint32_t, std::uint32_t>> functions_;
    Table<std::string> strings_;
    Table<std::pair<std::string, std::string>> attributes_;
};

}  // namespace

std::string otlp_profiles(const TraceStore& store, TimeRange range, const Labels& resource) {
    const StackSums sums = stack_sums(store, range);
    return sums.empty() ? std::string() : ProfilesWriter(store, range).write(sums, resource);
}

}  // namespace gs::serve
