#include "profiler/sample/modules.h"

namespace gs::sample {

class SymbolFiles {};
struct ProcessImage::Modules::State {};

bool has_unwinder() { return false; }
std::shared_ptr<SymbolFiles> make_symbol_files() { return nullptr; }

ProcessImage::Modules::Modules(std::uint32_t, std::shared_ptr<SymbolFiles>) {}
ProcessImage::Modules::~Modules() = default;
void ProcessImage::Modules::add(const CodeMapping&) {}
void ProcessImage::Modules::forget() {}
std::vector<std::uint64_t> ProcessImage::Modules::unwind(const PerfRecord&) { return {}; }
void ProcessImage::Modules::describe(std::uint64_t, FrameEvent&) {}
std::uint64_t ProcessImage::Modules::address_of(const CodeMapping&, const char*) { return 0; }

}  // namespace gs::sample
