#!/usr/bin/env python3
"""The rules of tests/size.py: what counts as a function and a method, and how the stored numbers fall."""
import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import size  # noqa: E402

CODE = r'''
#define OPEN {
namespace gs::cuda {
extern "C" {
int plain(int a, Options o = {}) { return a > 1'000 ? '{' : '"'; }
}
enum class Kind { one, two };
constexpr int kTable[2] = {1, 2};
std::atomic<int> count{0};
GS_ATOMICS(int)
inline Text text(int n) { return R"x( } " )x"; }  // }
/* { */ const auto later = [](int a) -> int {
    return a;
};
void noisy() try {
    f();
} catch (const std::exception& e) {
    g();
}
template <class T, int N = (3 > 2)>
std::function<void()> wrapped(T& t) {
    return [&t] {
        struct Local {
            void inner() {}
        };
    };
}
GS_KERNEL(kThreads, 4)
void blend(Params p) {
}
template <class T>
class alignas(16) Box final : public Base<T>, Other {
  public:
    explicit Box(int a) noexcept(true) : Base<T>{a}, other_(b), list_{1, {2}} { run(); }
    ~Box() override;
    Box(const Box&) = delete;
    Box& operator=(const Box&) = default;
    friend bool same(const Box& a, const Box& b);
    using Call = void (*)(int);
    static_assert(sizeof(int) == 4);
    bool operator()(int a) const { return a; }
    bool operator<(const Box& o) const;
    explicit operator bool() const { return true; }
    [[nodiscard]] std::vector<std::pair<int, int>> pairs(int (*of)(int)) const&;
    virtual void pure() = 0;
    struct Part {
        void run();
    };
  private:
    std::function<void(int)> call_ = [](int) {};
    void (*raw_)(int) = nullptr;
    int from_ = first(1);
};
template <class T>
void Box<T>::Part::run() {}
}  // namespace gs::cuda
TEST_F(Boxes, AreFound) {
}
'''


def read(code):
    return size.Reader("a.cpp", code)


class Scanner(unittest.TestCase):
    def test_finds_functions(self):
        reader = read(CODE)
        self.assertEqual(reader.faults, [])
        lines = {name: last - first + 1 for name, first, last, _ in reader.functions}
        self.assertEqual(lines, {
            "plain": 1, "text": 2, "later": 3, "noisy": 5, "wrapped": 8, "blend": 3, "Box::Box": 1, "Box::operator()": 1,
            "Box::operatorbool": 1, "Box::call_": 1, "Box::Part::run": 2, "TEST_F(Boxes, AreFound)": 2})
        self.assertEqual([name for name, _, _, device in reader.functions if device], ["blend"])

    def test_counts_methods(self):
        self.assertEqual(read(CODE).methods, {
            "Box": ["operator()", "operator<", "operatorbool", "pairs", "pure"], "Box::Part": ["run"]})

    def test_never_passes_over_a_brace(self):
        for code, fault in (("void f() {", "cannot pair '{'"), ("}\n", "cannot pair '}'"), ("void f( {)}", "cannot pair ')'"),
                            ("void f() so_what? {}", "cannot judge '{'")):
            self.assertIn(fault, read(code).faults[0])


class Limits(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gausscope-size-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        (self.root / "app").mkdir()
        (self.root / "tests").mkdir()
        self.stored = self.root / "tests/size.txt"
        self.write("void f() {\n" + "    g();\n" * 59 + "}\n")  # 61 lines
        self.store("61 lines product", "61 function app/a.cpp f")

    def write(self, text, path="app/a.cpp"):
        (self.root / path).write_text(text)

    def store(self, *rows):
        self.stored.write_text("# a comment\n" + "\n".join(rows) + "\n")

    def check(self, *arguments):
        out = io.StringIO()
        with mock.patch.multiple(size, ROOT=self.root, STORED=self.stored), contextlib.redirect_stdout(out):
            code = size.main([*arguments])
        return code, out.getvalue()

    def test_holds_what_is_stored(self):
        code, text = self.check()
        self.assertEqual(code, 0, text)
        self.assertNotIn("note", text)
        self.write("void f() {\n" + "    g();\n" * 60 + "}\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("product has 62 lines, 61 are allowed", text)
        self.assertIn("app/a.cpp:1: f has 62 lines, 61 are allowed. Split the function.", text)
        self.assertIn("size: 2 faults", text)

    def test_finds_new_offenders(self):
        self.store("5000 lines product", "61 function app/a.cpp f")
        self.write("int a;\n" * 501, "app/b.h")
        self.write("struct C {\n" + "".join(f"    void f{i}();\n" for i in range(26)) + "};\n", "app/c.h")
        self.write("GS_DEVICE void f() {\n" + "    g();\n" * 70 + "}\n", "app/d.cu")
        self.write("pass\n" * 501, "tests/e.py")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("app/b.h:1 has 501 lines, 500 are allowed. Split the file.", text)
        self.assertIn("tests/e.py:1 has 501 lines", text)
        self.assertIn("app/c.h:1: C has 26 methods, 25 are allowed.", text)
        self.assertIn("size: 3 faults", text)

    def test_numbers_fall_and_never_rise(self):
        self.store("60 lines product", "70 function app/a.cpp f", "9 class app/gone.h Gone")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("note: lower the stored numbers with tests/size.py --lower: function app/a.cpp f 70 -> 61; class app/gone.h", text)
        self.assertEqual(self.check("--lower")[0], 0)
        self.assertEqual(self.stored.read_text(), "# a comment\n60 lines product\n61 function app/a.cpp f\n")

    def test_refuses_a_table_that_a_merge_spoiled(self):
        for rows in (("1 lines product", "2 lines product"), ("<<<<<<< HEAD",), ("7",)):
            self.store(*rows)
            with self.assertRaises(SystemExit) as stopped:
                self.check()
            self.assertIn("size.txt:", str(stopped.exception))


if __name__ == "__main__":
    unittest.main()
