#include "tests/support/ptx/text.h"
#include "base/file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gs::ptx {
namespace {

bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view first_word(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() && !is_blank(text[end])) ++end;
    return text.substr(0, end);
}

/// The file of this checkout that a name in PTX stands for: a compiler cache may return PTX that
/// was made in another one. The name itself for files that are not ours.
std::string source_here(const std::string& name) {
    namespace fs = std::filesystem;
    const fs::path whole = fs::path(name).lexically_normal().relative_path();
    for (auto begin = whole.begin(); begin != whole.end(); ++begin) {
        fs::path path = GAUSSCOPE_SOURCE_DIR;
        for (auto part = begin; part != whole.end(); ++part) path /= *part;
        if (file_exists(path)) return path.string();
    }
    return name;
}

/// How much of `text` is blanks and comments.
std::size_t blanks(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (is_blank(text[at])) {
            ++at;
        } else if (text.substr(at, 2) == "//") {
            while (at < text.size() && text[at] != '\n') ++at;
        } else if (text.substr(at, 2) == "/*") {
            const std::size_t end = text.find("*/", at + 2);
            at = end == text.npos ? text.size() : end + 2;
        } else {
            break;
        }
    }
    return at;
}

/// Position of the brace that closes the one at the start, or npos. Strings and comments are passed
/// over.
std::size_t closing(std::string_view text) {
    int depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '"') {
            at = text.find('"', at + 1);
            if (at == text.npos) return at;
        } else if (text.substr(at, 2) == "//") {
            at = std::min(text.find('\n', at), text.size());
        } else if (text[at] == '{') {
            ++depth;
        } else if (text[at] == '}' && --depth == 0) {
            return at;
        }
    }
    return text.npos;
}

/// Reads a module from its beginning to its end.
class Reader {
  public:
    Reader(ModuleText& into) : into_(into), rest_(into.text) {}

    Result<void> run() {
        for (skip(blanks(rest_)); !rest_.empty(); skip(blanks(rest_))) {
            if (!directive()) {
                return fail_at_line(into_.path, static_cast<std::uint64_t>(line_),
                                    "no PTX: '" + std::string(rest_.substr(0, 40)) + "'",
                                    "compile with nvcc -ptx");
            }
        }
        return {};
    }

  private:
    void skip(std::size_t count) {
        line_ += static_cast<int>(
            std::count(rest_.begin(), rest_.begin() + static_cast<long>(count), '\n'));
        rest_.remove_prefix(count);
    }
    std::string_view take(char end) {
        const std::size_t at = rest_.find(end);
        if (at == rest_.npos) return {};
        const std::string_view taken = rest_.substr(0, at);
        skip(at + 1);
        return taken;
    }

    bool directive() {
        const std::string_view word = first_word(rest_);
        if (word == ".version" || word == ".target" || word == ".address_size") {
            skip(std::min(rest_.find('\n'), rest_.size()));
            return true;
        }
        if (word == ".visible" || word == ".weak" || word == ".extern" || word == ".common") {
            skip(word.size());
            return true;
        }
        if (word == ".file") return file();
        if (word == ".section") {
            const std::size_t open = rest_.find('{');
            const std::size_t close = open == rest_.npos ? open : closing(rest_.substr(open));
            if (close == rest_.npos) return false;
            skip(open + close + 1);
            return true;
        }
        if (word == ".global" || word == ".const" || word == ".shared") return array(word);
        if (word == ".pragma") {
            take(';');
            return true;
        }
        if (word == ".entry" || word == ".func") return function(word == ".entry");
        return false;
    }

    bool file() {
        std::istringstream line{
            std::string(rest_.substr(0, std::min(rest_.find('\n'), rest_.size())))};
        std::string word;
        std::size_t number = 0;
        line >> word >> number;
        std::string name;
        std::getline(line, name, '"');
        std::getline(line, name, '"');
        if (number > 100'000) return false;
        if (into_.files.size() <= number) into_.files.resize(number + 1);
        into_.files[number] = source_here(name);
        skip(std::min(rest_.find('\n'), rest_.size()));
        return true;
    }

    bool array(std::string_view word) {
        const std::string_view text = take(';');
        if (text.empty()) return false;
        const auto found = declared(text.substr(word.size()));
        if (!found) return false;
        (word == ".shared" ? into_.shared : into_.statics).push_back(*found);
        return true;
    }

    static std::vector<Declared> parameters(std::string_view text) {
        std::vector<Declared> all;
        for (std::string_view one : split_operands(text)) {
            if (one.starts_with(".param")) one.remove_prefix(6);
            if (const auto parameter = declared(one)) all.push_back(*parameter);
        }
        return all;
    }
    /// "( ... )" at the start of what is left; empty where there is none.
    std::string_view in_parentheses() {
        skip(blanks(rest_));
        if (rest_.empty() || rest_.front() != '(') return {};
        skip(1);
        return take(')');
    }

    bool function(bool entry) {
        Function f;
        f.entry = entry;
        skip(first_word(rest_).size());
        if (!entry) f.results = parameters(in_parentheses());
        skip(blanks(rest_));
        std::size_t end = 0;
        while (end < rest_.size() && in_name(rest_[end])) ++end;
        f.name = rest_.substr(0, end);
        skip(end);
        f.parameters = parameters(in_parentheses());
        const std::size_t stop = rest_.find_first_of("{;");
        if (f.name.empty() || stop == rest_.npos) return false;
        const std::string_view head = rest_.substr(0, stop);
        if (const auto at = head.find(".maxntid"); at != head.npos) {
            f.most_threads = std::atoi(std::string(head.substr(at + 8)).c_str());
        } else if (const auto exactly = head.find(".reqntid"); exactly != head.npos) {
            f.most_threads = std::atoi(std::string(head.substr(exactly + 8)).c_str());
        }
        const bool body = rest_[stop] == '{';
        skip(stop);
        if (!body) {  // announced only
            skip(1);
            return true;
        }
        const std::size_t close = closing(rest_);
        if (close == rest_.npos) return false;
        f.body = rest_.substr(1, close - 1);
        f.line = line_;
        into_.functions.push_back(f);
        skip(close + 1);
        return true;
    }

    ModuleText& into_;
    std::string_view rest_;
    int line_ = 1;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::optional<long long> whole_number(std::string_view text) {
    text = trimmed(text);
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.ends_with('U')) text.remove_suffix(1);
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    unsigned long long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return static_cast<long long>(negative ? 0 - value : value);
}

std::vector<std::string_view> split_operands(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const char c = at < text.size() ? text[at] : ',';
        if (c == '{' || c == '[' || c == '(') ++depth;
        if (c == '}' || c == ']' || c == ')') --depth;
        if (c == ',' && (depth == 0 || at == text.size())) {
            const std::string_view part = trimmed(text.substr(from, at - from));
            if (!part.empty()) parts.push_back(part);
            from = at + 1;
        }
    }
    return parts;
}

std::vector<std::string_view> split_dots(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t dot = std::min(text.find('.'), text.size());
        if (dot > 0) parts.push_back(text.substr(0, dot));
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return parts;
}

std::size_t Declared::element_bytes() const {
    if (type.ends_with("64")) return 8;
    if (type.ends_with("32")) return 4;
    if (type.ends_with("16")) return 2;
    return 1;
}

std::optional<Declared> declared(std::string_view text) {
    Declared d;
    if (const std::size_t equals = text.find('='); equals != text.npos) {
        d.values = trimmed(text.substr(equals + 1));
        if (d.values.starts_with('{')) d.values.remove_prefix(1);
        if (d.values.ends_with('}')) d.values.remove_suffix(1);
        text = text.substr(0, equals);
    }
    for (text = trimmed(text); text.starts_with('.'); text = trimmed(text)) {
        const std::string_view word = first_word(text);
        text = trimmed(text.substr(word.size()));
        if (word == ".align") {
            const std::string_view number = first_word(text);
            d.align = static_cast<std::size_t>(whole_number(number).value_or(1));
            text.remove_prefix(number.size());
        } else if (word != ".ptr" && word != ".attribute" && word != ".global") {
            d.type = word.substr(1);
        }
    }
    if (const std::size_t open = text.find('['); open != text.npos) {
        const std::size_t close = text.find(']', open);
        if (close == text.npos) return std::nullopt;
        d.is_array = true;
        d.count = static_cast<std::size_t>(
            whole_number(text.substr(open + 1, close - open - 1)).value_or(0));
        text = text.substr(0, open);
    }
    d.name = trimmed(text);
    if (d.name.empty() || d.type.empty()) return std::nullopt;
    return d;
}

void Statements::drop(std::size_t count) {
    line_ +=
        static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<long>(count), '\n'));
    rest_.remove_prefix(count);
}

void Statements::skip_blanks() { drop(blanks(rest_)); }

bool Statements::next(Statement& statement) {
    skip_blanks();
    if (rest_.empty()) return false;
    statement.line = line_;
    if (rest_.front() == '{' || rest_.front() == '}') {
        statement.kind = rest_.front() == '{' ? StatementKind::open : StatementKind::close;
        drop(1);
        return true;
    }
    if (rest_.starts_with(".loc") && rest_.size() > 4 && is_blank(rest_[4])) {
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        statement.kind = StatementKind::location;
        statement.text = rest_.substr(0, end);
        drop(end);
        return true;
    }
    std::size_t name = 0;
    while (name < rest_.size() && in_name(rest_[name])) ++name;
    if (name > 0 && name < rest_.size() && rest_[name] == ':') {
        statement.kind = StatementKind::label;
        statement.text = rest_.substr(0, name);
        drop(name + 1);
        return true;
    }
    const std::size_t end = std::min(rest_.find(';'), rest_.size());
    statement.kind = rest_.front() == '.' ? StatementKind::directive : StatementKind::instruction;
    statement.text = trimmed(rest_.substr(0, end));
    drop(std::min(end + 1, rest_.size()));
    return true;
}

const Function* ModuleText::function(std::string_view name) const {
    for (const Function& f : functions) {
        if (f.name == name) return &f;
    }
    return nullptr;
}

Result<Module> Module::parse(std::string text, std::string name) {
    auto all = std::make_shared<ModuleText>();
    all->text = std::move(text);
    all->path = std::move(name);
    if (auto read = Reader(*all).run(); !read) return tl::unexpected(read.error());
    Module module;
    module.text_ = std::move(all);
    return module;
}

Result<Module> Module::read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorKind::not_found, path, "cannot be read", "build gs_cuda with nvcc");
    std::ostringstream text;
    text << file.rdbuf();
    return parse(std::move(text).str(), path);
}

std::vector<std::string> Module::entries() const {
    std::vector<std::string> names;
    for (const Function& f : text_->functions) {
        if (f.entry) names.emplace_back(f.name);
    }
    return names;
}

}  // namespace gs::ptx
