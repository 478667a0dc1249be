# SPDX-License-Identifier: Apache-2.0
"""Where a source can be changed so that it still looks like a program, and into what.

C++ is read as text in which comments, strings and preprocessor lines are blank: clang-format puts
blanks around a binary operator and none around the brackets of a template. Python is read as tokens
and as a syntax tree.
"""
import ast
import dataclasses
import io
import re
import tokenize

OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
             "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
             "and": "or", "or": "and", "true": "false", "false": "true", "True": "False", "False": "True"}


@dataclasses.dataclass(frozen=True)
class Site:
    """The characters [start, end) of a source, and what stands there in the mutant."""
    path: str
    line: int
    start: int
    end: int
    text: str
    kind: str

    def applied(self, source):
        return source[:self.start] + self.text + source[self.end:]


def in_lines(path, source, changes):
    """Sites of (start, end, text, kind), without those that change nothing."""
    return [Site(path, source.count("\n", 0, start) + 1, start, end, text, kind)
            for start, end, text, kind in changes if source[start:end] != text]


def other_number(digits):
    """An integer that is one larger, or twice a number with a fraction."""
    return str(int(digits) + 1) if digits.isdigit() else f"(2 * {digits})"


def blanked(source):
    """C++ of the same length without the text of comments, literals and preprocessor lines."""
    pattern = (r"//[^\n]*|/\*.*?\*/|R\"(?P<raw>\w*)\(.*?\)(?P=raw)\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
               r"|^[ \t]*#(?:\\\n|[^\n])*|^namespace[^\n]*|^\s*static_assert\(.*?\);|template <[^\n]*")
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), source, flags=re.S | re.M)


STATEMENT = re.compile(
    r"^[ ]+(?!return\b|using\b|case\b|default\b|throw\b|goto\b|friend\b|public:|private:|else\b|do\b)"
    r"(?:if \([^\n]*\) [^\n]*|(?:\+\+|--)?[\w.:\[\]>()*-]+(?:\([^\n]*\)| [-+*/|&]?= [^\n]*|\+\+|--)?);$", re.M)


def cpp_sites(path, source):
    code = blanked(source)
    found = []
    for match in re.finditer(r"(?<= )(\+|-|\*|/|<|<=|>|>=|==|!=|&&|\|\||\+=|-=|\*=|/=)(?= )", code):
        found.append((*match.span(), OPERATORS[match.group()], "operator"))
    for match in re.finditer(r"\b(true|false)\b", code):
        found.append((*match.span(), OPERATORS[match.group()], "constant"))
    for match in re.finditer(r"(?<=[( ])!(?=[\w(])", code):
        found.append((*match.span(), "", "condition"))
    for match in re.finditer(r"(?<![\w.<'])(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|\d+)(?![\w.>'])", code):
        found.append((*match.span(), other_number(match.group()), "constant"))
    for match in STATEMENT.finditer(code):
        before = code[:match.start()].rstrip()
        balanced = all(match.group().count(a) == match.group().count(b) for a, b in ("()", "{}", "[]"))
        if balanced and before.endswith((";", "{", "}")) and not re.match(r"\s*[\w:]+\(\) = ", match.group()):
            found.append((match.start(), match.end(), "", "statement"))
    return in_lines(path, source, found)


def python_sites(path, source):
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        if token.type == tokenize.NUMBER:
            found.append((begin, end, other_number(token.string), "constant"))
        elif token.string in ("*", "/", "-", "+") and source[begin - 1:begin] != " ":
            continue
        elif token.string == "*" and source[end:end + 1] != " ":
            continue
        elif token.string in OPERATORS and token.type in (tokenize.OP, tokenize.NAME):
            kind = "constant" if token.string in ("True", "False") else "operator"
            found.append((begin, end, OPERATORS[token.string], kind))
        elif token.string == "not" and source[begin - 3:begin] != "is " and source[end:end + 3] != " in":
            found.append((begin, end + 1, "", "condition"))
    for node in ast.walk(ast.parse(source)):
        simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.Raise)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        if simple and node.col_offset > 0:
            begin = starts[node.lineno - 1] + len(source[starts[node.lineno - 1]:].encode()[:node.col_offset].decode())
            last = starts[node.end_lineno - 1]
            end = last + len(source[last:].encode()[:node.end_col_offset].decode())
            found.append((begin, end, "pass", "statement"))
    return in_lines(path, source, found)


def sites_of(path, source):
    return (python_sites if path.endswith(".py") else cpp_sites)(path, source)
