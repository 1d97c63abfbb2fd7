#include "profiler/files/perfetto_writer.h"

#include <array>
#include <string>

namespace gs::perfetto {
namespace {

/// The place of `text` in `known`, counted from 1; added when it is new.
std::uint64_t iid_of(std::vector<std::string>& known, std::string_view text) {
    const auto found = std::find(known.begin(), known.end(), text);
    if (found != known.end()) return static_cast<std::uint64_t>(found - known.begin()) + 1;
    known.emplace_back(text);
    return known.size();
}

void write_annotation(pbf_writer& e, std::uint64_t iid, const Annotation& annotation) {
    pbf_writer a(e, kAnnotation);
    a.add_uint64(1, iid);
    if (!annotation.text.empty())
        a.add_string(6, annotation.text);
    else if (annotation.kind == PayloadKind::real)
        a.add_fixed64(5, annotation.value);
    else
        a.add_uint64(annotation.kind == PayloadKind::signed_whole ? 4 : 3, annotation.value);
}

}  // namespace

const char* payload_name(Stage stage) {
    return stage == Stage::iteration                          ? "step"
           : stage == Stage::view_frame || stage == Stage::ui ? "frame"
                                                              : "value";
}

std::uint64_t Sequence::intern_name(std::uint32_t name) {
    intern_text(kNames, name + std::uint64_t{1}, store_.name(name));
    return name + std::uint64_t{1};
}

std::uint64_t Sequence::intern_annotation(std::string_view name) {
    const std::uint64_t iid = iid_of(annotation_names_, name);
    intern_text(kAnnotationNames, iid, name);
    return iid;
}

void Sequence::begin(std::uint64_t uuid, const TraceSpan& span, const Details& details) {
    event(uuid, span.begin_ns, kSliceBegin, span.name, &span, details);
}

void Sequence::instant(std::uint64_t uuid, std::int64_t time, std::uint32_t name,
                       std::span<const Annotation> annotations) {
    event(uuid, time, kInstant, name, nullptr, {0, annotations, {}, false});
}

void Sequence::moment(std::uint64_t uuid, std::int64_t time, std::string_view text,
                      std::span<const Annotation> annotations) {
    std::vector<std::uint64_t> iids;
    for (const Annotation& a : annotations) iids.push_back(intern_annotation(a.name));
    packet(time, kTrackEvent, [&](pbf_writer& e) {
        for (std::size_t i = 0; i < iids.size(); ++i) write_annotation(e, iids[i], annotations[i]);
        e.add_uint64(kType, kInstant);
        e.add_uint64(kTrackUuid, uuid);
        e.add_string(kName, text);
    });
}

void Sequence::end(std::uint64_t uuid, std::int64_t time) {
    packet(time, kTrackEvent, [&](pbf_writer& e) {
        e.add_uint64(kType, kSliceEnd);
        e.add_uint64(kTrackUuid, uuid);
    });
}

void Sequence::value(std::uint64_t uuid, std::int64_t time, double value) {
    packet(time, kTrackEvent, [&](pbf_writer& e) {
        e.add_uint64(kType, kCounter);
        e.add_uint64(kTrackUuid, uuid);
        e.add_double(kDoubleValue, value);
    });
}

void Sequence::event(std::uint64_t uuid, std::int64_t time, EventType type, std::uint32_t name,
                     const TraceSpan* span, const Details& details) {
    std::array<std::uint64_t, 3> categories{};
    std::size_t category_count = 0;
    const auto category = [&](std::string_view text) {
        const std::uint64_t iid = iid_of(categories_, text);
        intern_text(kCategories, iid, text);
        categories[category_count++] = iid;
    };
    category(details.cuda_call ? "cuda" : name_of(group_of(store_.names().stage(name))));
    if (const auto domain = store_.names().domain(name); !domain.empty())
        category(kDomainPrefix + std::string(domain));
    if (span != nullptr)
        if (const auto own = store_.names().category(span->name, span->category); !own.empty())
            category(kNvtxCategoryPrefix + std::string(own));
    const std::uint64_t name_iid = intern_name(name);
    std::vector<std::uint64_t> annotation_iids;
    for (const Annotation& a : details.annotations)
        annotation_iids.push_back(intern_annotation(a.name));
    packet(time, kTrackEvent, [&](pbf_writer& e) {
        for (std::size_t i = 0; i < category_count; ++i) e.add_uint64(kCategoryIid, categories[i]);
        for (std::size_t i = 0; i < annotation_iids.size(); ++i)
            write_annotation(e, annotation_iids[i], details.annotations[i]);
        e.add_uint64(kType, type);
        e.add_uint64(kNameIid, name_iid);
        e.add_uint64(kTrackUuid, uuid);
        if (details.flow != 0) e.add_fixed64(kFlowIds, details.flow);
        for (const std::uint64_t arrow : details.arrows) e.add_fixed64(kFlowIds, arrow);
        if (details.arrow_end != 0) e.add_fixed64(kTerminatingFlowIds, details.arrow_end);
        if (!details.submitted.empty()) {
            pbf_writer c(e, kGpuCorrelation);
            for (const std::uint64_t id : details.submitted) c.add_uint64(1, id);
        }
        if (details.cuda_call) e.add_uint64(kGpuApi, kCuda);
    });
}

}  // namespace gs::perfetto
