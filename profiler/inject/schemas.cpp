#include "profiler/inject/schemas.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "base/record/mutex.h"

namespace gs::inject {
namespace {

constexpr std::uint32_t kSchemas = 1024;
constexpr std::uint32_t kMostSchemas = kSchemas / 4 * 3;  // the search ends at one that is free
constinit Schema schemas[kSchemas] = {};
constinit std::uint32_t schema_count = 0;
constinit pthread_mutex_t schemas_lock = PTHREAD_MUTEX_INITIALIZER;

/// Programs choose numbers within a domain; ours differ in all.
std::uint32_t owner_of(std::uint32_t domain, std::uint64_t id) {
    return id >= nvtx::kFirstDynamicSchema ? 0 : domain;
}
std::uint32_t place_of(std::uint32_t domain, std::uint64_t id) {
    return static_cast<std::uint32_t>((id ^ std::uint64_t{domain} << 40) * 0x9E3779B97F4A7C15u >>
                                      54);
}
static_assert(kSchemas == 1u << (64 - 54));

const char* copy_of(const char* text) {
    const std::string_view given = text_of(text);
    auto* copy = static_cast<char*>(std::malloc(given.size() + 1));
    if (copy == nullptr) return nullptr;
    given.copy(copy, given.size());
    copy[given.size()] = '\0';
    return copy;
}

/// Asks `fill` to describe a schema of this number, or of one of ours where the program gave none;
/// with the lock held.
template <class Fill>
std::uint64_t add(std::uint32_t domain, std::uint64_t id, std::size_t count, const Fill& fill) {
    const detail::Locked held(schemas_lock);
    if (id == 0) id = nvtx::kFirstDynamicSchema + schema_count;
    domain = owner_of(domain, id);
    if (find_schema(domain, id) != nullptr) return id;
    const auto kept = static_cast<std::uint32_t>(std::min<std::size_t>(count, kMostEntries));
    auto* entries = schema_count < kMostSchemas ? new (std::nothrow) SchemaEntry[kept] : nullptr;
    if (entries == nullptr) return 0;
    std::uint32_t place = place_of(domain, id);
    while (schemas[place].id.load(std::memory_order_relaxed) != 0) place = (place + 1) % kSchemas;
    Schema& schema = schemas[place];
    schema.domain = domain;
    schema.count = kept;
    schema.entries = entries;
    fill(schema);
    schema.id.store(id, std::memory_order_release);
    ++schema_count;
    return id;
}

bool is_given(std::uint64_t id) {
    return id >= nvtx::kFirstSchema && id < nvtx::kFirstDynamicSchema;
}

}  // namespace

StringId SchemaEntry::name() noexcept {
    StringId known = id.load(std::memory_order_relaxed);
    if (known != 0 || text == nullptr) return known;
    known = name_id(text, 0, 0);
    id.store(known, std::memory_order_relaxed);
    return known;
}

Schema* find_schema(std::uint32_t domain, std::uint64_t id) noexcept {
    domain = owner_of(domain, id);
    for (std::uint32_t place = place_of(domain, id);; place = (place + 1) % kSchemas) {
        const std::uint64_t there = schemas[place].id.load(std::memory_order_acquire);
        if (there == 0) return nullptr;
        if (there == id && schemas[place].domain == domain) return &schemas[place];
    }
}

std::uint64_t add_schema(std::uint32_t domain, const nvtx::PayloadSchema* s) noexcept {
    constexpr std::uint64_t kNeeded =
        nvtx::kSchemaHasType | nvtx::kSchemaHasEntries | nvtx::kSchemaHasCount;
    if (s == nullptr || (s->fields & kNeeded) != kNeeded || s->entries == nullptr) return 0;
    const std::uint64_t id = (s->fields & nvtx::kSchemaHasId) != 0 ? s->id : 0;
    if (id != 0 && !is_given(id)) return 0;
    return add(domain, id, s->count, [s](Schema& schema) {
        schema.readable = s->type == nvtx::kSchemaStatic || s->type == nvtx::kSchemaDynamic;
        const bool sized = (s->fields & nvtx::kSchemaHasSize) != 0;
        schema.size = s->type != nvtx::kSchemaDynamic && sized ? s->static_size : 0;
        schema.pack = (s->fields & nvtx::kSchemaHasAlignment) != 0 ? s->pack_align : 0;
        for (std::uint32_t i = 0; i < schema.count; ++i) {
            const nvtx::PayloadEntry& from = s->entries[i];
            SchemaEntry& to = schema.entries[i];
            to.flags = from.flags;
            to.type = from.type;
            to.offset = from.offset;
            to.detail = from.detail;
            to.text = copy_of(from.name);
            to.tells_bytes = to.text != nullptr && std::strstr(to.text, "bytes") != nullptr;
        }
    });
}

std::uint64_t add_enum(std::uint32_t domain, const nvtx::PayloadEnum* e) noexcept {
    constexpr std::uint64_t kNeeded = nvtx::kEnumHasEntries | nvtx::kEnumHasCount;
    if (e == nullptr || (e->fields & kNeeded) != kNeeded || e->entries == nullptr) return 0;
    const std::uint64_t id = (e->fields & nvtx::kEnumHasId) != 0 ? e->id : 0;
    if (id != 0 && !is_given(id)) return 0;
    return add(domain, id, e->count, [e](Schema& schema) {
        schema.is_enum = true;
        schema.size = (e->fields & nvtx::kEnumHasSize) != 0 ? e->size : sizeof(int);
        for (std::uint32_t i = 0; i < schema.count; ++i) {
            schema.entries[i].detail = e->entries[i].value;
            schema.entries[i].text = copy_of(e->entries[i].name);
        }
    });
}

void forget_schemas() noexcept { ::pthread_mutex_init(&schemas_lock, nullptr); }

void renew_schemas() noexcept {
    const detail::Locked held(schemas_lock);
    for (Schema& schema : schemas)
        for (std::uint32_t i = 0; i < schema.count; ++i)
            schema.entries[i].id.store(0, std::memory_order_relaxed);
}

}  // namespace gs::inject
