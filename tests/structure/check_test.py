#!/usr/bin/env python3
"""Plants one violation of each kind in a small tree, and expects each to be found, alone and at its line."""

import tempfile
import textwrap
import unittest
from pathlib import Path

import cpp_text
import rules

CLEAN = {
    "tests/structure/layers.txt": "# a table\nbase:\nnet: base\ncollective: base net\napp: base net collective\n",
    "tests/structure/vendor.txt": "mpi.h: src/net/mpi_\nfmt/: src/*.cpp\n",
    "CMakeLists.txt": "project(twinax)\n",
    "include/twinax/base/units.hpp": """\
        #pragma once

        namespace twinax {

        struct Later;

        /// A volume.
        struct Bytes {
          long value = 0;
          bool operator==(const Bytes&) const = default;
        };

        /// Both of these.
        struct A {};
        struct B {};

        constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }

        /// A template.
        template <class T>
        T twice(T value) {
          return value * 2;
        }

        }  // namespace twinax
        """,
    "include/twinax/net/nic.hpp": '#include "twinax/base/units.hpp"\n',
    "src/base/CMakeLists.txt": "twinax_layer(base SOURCES a.cpp)\n",
    "src/net/CMakeLists.txt": "twinax_layer(net LINK twinax::base)  # not twinax::app\n",
    "src/net/mpi_comm.cpp": '#include "mpi.h"\n#include "fmt/format.h"\n#include "net/private.hpp"\n#include "twinax/net/nic.hpp"\n',
    "src/net/private.hpp": "#pragma once\n",
    "src/app/main.cpp": '#include "twinax/net/nic.hpp"\n',
}


def body(lines: int) -> str:
    return "".join(f"  use({i});\n" for i in range(lines))


class Planted(unittest.TestCase):
    """One violation in a clean tree."""

    def found(self, planted: dict[str, str]) -> list[rules.Finding]:
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (CLEAN | planted).items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(textwrap.dedent(text), encoding="utf-8")
            return rules.findings(Path(folder))

    def expect(self, path: str, text: str, line: int, rule: str) -> None:
        self.assertEqual([(f.path, f.line, f.rule) for f in self.found({path: text})], [(path, line, rule)])

    def test_a_clean_tree_has_no_findings(self):
        self.assertEqual(self.found({}), [])

    def test_an_include_down_the_table_is_found(self):
        self.expect("src/base/a.cpp", '\n#include "twinax/net/nic.hpp"\n', 2, "include")
        self.expect("include/twinax/base/a.hpp", '#include <twinax/net/nic.hpp>\n', 1, "include")

    def test_an_include_that_skips_the_table_is_found(self):
        self.expect("src/app/a.cpp", '#include "twinax/record/schema.hpp"\n', 1, "include")

    def test_a_private_header_of_another_layer_is_found(self):
        self.expect("src/app/a.cpp", '#include "net/private.hpp"\n', 1, "include")

    def test_a_private_header_in_a_public_one_is_found(self):
        self.expect("include/twinax/net/a.hpp", '#include "net/private.hpp"\n', 1, "include")

    def test_an_include_that_climbs_is_found(self):
        self.expect("src/net/a.cpp", '#include "../net/private.hpp"\n', 1, "include")

    def test_a_layer_without_a_row_is_found(self):
        self.expect("src/extra/a.cpp", "int x;\n", 1, "layer")

    def test_a_row_out_of_order_is_found(self):
        text = "base: net\nnet:\ncollective: net\napp: base net collective\n"
        self.assertIn("order", [f.rule for f in self.found({"tests/structure/layers.txt": text})])

    def test_a_vendor_header_outside_its_files_is_found(self):
        self.expect("src/net/loopback.cpp", '#include "mpi.h"\n', 1, "vendor")
        self.expect("include/twinax/net/a.hpp", '#include "fmt/format.h"\n', 1, "vendor")

    def test_a_link_down_the_table_is_found(self):
        self.expect("src/net/CMakeLists.txt", "twinax_layer(net\n  LINK twinax::collective)\n", 2, "link")
        self.expect("src/base/CMakeLists.txt", "target_link_libraries(twinax_base twinax_net)\n", 1, "link")

    def test_a_long_file_is_found(self):
        self.expect("src/net/a.cpp", "int x;\n" * 401, 401, "file-length")
        self.expect("tests/a.sh", "true\n" * 401, 401, "file-length")
        self.expect("CMakeLists.txt", "project(x)\n" * 201, 201, "file-length")
        self.assertEqual(self.found({"src/net/a.cpp": "int x;\n" * 400}), [])

    def test_a_long_function_is_found(self):
        self.expect("src/net/a.cpp", f"namespace a {{\n\nint f(int x) {{\n{body(79)}}}\n}}\n", 3, "function-length")
        self.expect("src/net/a.cpp", f"class A {{\n public:\n  A() : b_{{1}}, c_(2) {{\n{body(79)}  }}\n}};\n", 3, "function-length")
        self.expect("tests/a.cpp", f"TEST(Thing, Works) {{\n{body(79)}}}\n", 1, "function-length")
        self.expect("src/net/a.cpp", f"template <class T>\nT f(T x)\n  requires(sizeof(T) > 4) {{\n{body(77)}}}\n", 1, "function-length")
        self.assertEqual(self.found({"src/net/a.cpp": f"int f() {{\n{body(78)}}}\n"}), [])

    def test_a_long_table_is_no_function(self):
        self.assertEqual(self.found({"src/net/a.cpp": "const int kTable[] = {\n" + "    1,\n" * 100 + "};\n"}), [])

    def test_a_missing_docstring_is_found(self):
        head = "namespace twinax {\n\n"
        for text in ("struct A {\n  int operator()() const;\n};\n", "class B {};\n", "enum class C { D };\n", "int f(int x);\n",
                     "template <class T>\nint g(T x) {\n  return 1;\n}\n", "// a comment\nvoid h();\n"):
            line = 4 if text.startswith("//") else 3
            self.expect("include/twinax/base/a.hpp", f"{head}{text}\n}}\n", line, "docstring")

    def test_a_docstring_is_not_shared_over_a_gap(self):
        self.expect("include/twinax/base/a.hpp", "/// Both.\nvoid f();\n\nvoid g();\n", 4, "docstring")

    def test_what_is_left_unfinished_is_found(self):
        self.expect("src/net/a.cpp", "\n// " + "TO" + "DO: later\n", 2, "unfinished")
        self.expect("experiments/a.toml", "# FIX" + "ME\n", 1, "unfinished")

    def test_an_empty_name_is_found(self):
        self.expect("src/net/utils.cpp", "int x;\n", 1, "name")
        self.expect("src/net/helpers/a.cpp", "int x;\n", 1, "name")


class CppText(unittest.TestCase):
    """What the reader of C++ must not be fooled by."""

    def names(self, text: str) -> list[str]:
        return [function.name for function in cpp_text.read(text)[0]]

    def test_braces_in_literals_and_comments_do_not_count(self):
        text = 'void f() {\n  a("{", \'{\', R"({{)", 1\'000);  // {\n  /* { */\n}\nvoid g() {}\n'
        self.assertEqual(self.names(text), ["f", "g"])

    def test_lines_keep_their_numbers(self):
        functions, _ = cpp_text.read('#define A {\\\n  {\n/* x\n y */\nint f() {\n  return 1;\n}\n')
        self.assertEqual(functions, [cpp_text.Function("f", 5, 3)])

    def test_default_arguments_and_member_lists_are_seen_through(self):
        text = "struct A {\n  A(B b = {}) : b_{b}, c_{} {}\n  ~A() { x(); }\n  int d = 1;\n  auto e() const -> std::vector<int> { return {}; }\n};\n"
        self.assertEqual(self.names(text), ["A", "~A", "e"])

    def test_functions_that_return_structs_are_functions(self):
        self.assertEqual(self.names("struct stat look(int x) {\n  return {};\n}\nenum class E { A };\n"), ["look"])


if __name__ == "__main__":
    unittest.main()
