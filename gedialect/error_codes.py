"""What every error code means and what to do about it: one entry a code.

``ge-opt --explain GE1203`` prints an entry, docs/errors.md all of them. Codes are stable: a meaning keeps its code, and
a code that is no longer used is not given to another meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

RANGES = {
    "10": "Input and options",
    "11": "Text, pipelines and rules",
    "12": "Unsupported",
    "13": "OM files, kernels as bytes, and running them",
    "14": "Plans, kernels and tiles",
    "19": "Inside the compiler",
}
"""The two digits after ``GE`` -> what the codes are about."""


@dataclass(frozen=True)
class ErrorCode:
    """``title`` is a noun phrase, ``meaning`` says when the error arises, ``todo`` what helps."""

    code: str
    title: str
    meaning: str
    todo: str

    def __str__(self) -> str:
        return f"{self.code}: {self.title}\n  {self.meaning}\n  What to do: {self.todo}"


_REPORT = "It is a bug in gedialect: please report it, with the model or the reproducer."

_ENTRIES: tuple[tuple[str, str, str, str], ...] = (
    # ------------------------------------------------------------ input and options
    (
        "GE1001",
        "wrong command line or option",
        "An option, its value (level, precision, input shape) or a combination of options does not exist.",
        "The message names what is allowed; every command has --help.",
    ),
    (
        "GE1002",
        "unreadable file",
        "A file (model, text, OM, arrays, or the weights one of them names) is missing or cannot be read.",
        "Check the path and its permissions. Text that names weight files is read beside those files.",
    ),
    (
        "GE1003",
        "damaged file",
        "A file is cut short, is of another format than its name says, or holds data of another size than it states.",
        "Copy or export it again; for weights beyond the end of their file, import the model again.",
    ),
    (
        "GE1004",
        "inputs that do not fit the model",
        "Arrays or shapes given for a run or a compilation differ from the model's inputs in number, name, type or "
        "shape, or expected outputs are missing from the file.",
        "The message lists the model's inputs with their types.",
    ),
    (
        "GE1005",
        "operands that do not fit the op",
        "Types, shapes or attributes of an op or model node contradict each other, or a needed one is missing.",
        "Correct the model; the error names the node. onnx.checker often says the same.",
    ),
    (
        "GE1006",
        "index out of range at run time",
        "An index computed in the model lies outside the axis it selects from.",
        "Check the index input of the model, such as a token beyond the vocabulary.",
    ),
    (
        "GE1007",
        "graph that is not well-formed",
        "A name is defined twice or nowhere, an output is not computed, or nodes form a cycle.",
        "Correct the model; the error names the node and the value.",
    ),
    (
        "GE1008",
        "model nested too deeply",
        "Graphs inside nodes, or functions that call functions, go deeper than allowed, or functions form a cycle.",
        "Flatten the If and Loop nodes; a function may not call itself.",
    ),
    (
        "GE1009",
        "absurd size",
        "A tensor of the model has a negative size or more bytes than any memory.",
        "Correct the shape; the file may be damaged.",
    ),
    (
        "GE1010",
        "unknown target",
        "No file of gedialect/targets has this name, or the chip lacks the memory space asked for.",
        "The message lists the targets; docs/targets.md tells how to add one.",
    ),
    ("GE1012", "unwritable file", "An output file cannot be written.", "Check the folder, its permissions and space."),
    (
        "GE1013",
        "unknown kind of file",
        "The extension of a file is none this command reads, or a model was given as a stream.",
        "The message lists what is read; ge-opt takes the format by -f as well.",
    ),
    (
        "GE1014",
        "unknown sizes",
        "Sizes or ranks of the inputs are open, or come from data inside the model, and what was asked for needs them.",
        'Give them, with --input-shape "x:1,3,224,224" or input_shapes={"x": [1, 3, 224, 224]}; the message has the '
        "names. compile() does without: it compiles at the first run. For several sizes in one OM give "
        "--dynamic-batch-size or --dynamic-dims; they need sizes that the model leaves open.",
    ),
    (
        "GE1015",
        "no reference to check against",
        "--check onnxruntime was asked for, but onnxruntime is not installed or cannot run the model.",
        "pip install 'gedialect[verify]', or check against stored outputs with --check npz.",
    ),
    (
        "GE1016",
        "malformed target file",
        "A chip's TOML file does not parse, lacks a number, states one without source, or has one nobody reads.",
        "docs/targets.md describes the form.",
    ),
    (
        "GE1018",
        "malformed fusion switch file",
        "A fusion_switch.cfg is neither GE's JSON nor lines NAME:on, or a switch is not on or off.",
        "docs/fusion.md shows both forms; the error names the line.",
    ),
    (
        "GE1019",
        "weights a text may not name",
        "A text takes weights from a file that is not in its folder, the current one or below, and is not called like "
        "a file of weights (.onnx, .bin, .data, .weights, .pb): what it names would end up in what is made of it.",
        "Put the file beside the text, or its folder into the environment variable GEDIALECT_WEIGHTS if you trust it.",
    ),
    (
        "GE1020",
        "nothing to reduce",
        "The model given to ge-reduce does not fail in the way that was asked for.",
        "Give what it fails with: the inputs, the level, the rules or switches; see ge-reduce --help.",
    ),
    # ------------------------------------------------------------ text, pipelines, rules
    (
        "GE1101",
        "text that does not parse",
        "MLIR text breaks the syntax, or names an op, attribute or type that does not exist.",
        "The place is marked; docs/ops.md has the syntax of every ge op.",
    ),
    ("GE1102", "text that is not UTF-8", "A text file has bytes that are no UTF-8.", "Is it a binary file?"),
    (
        "GE1103",
        "use before definition",
        "An op uses a value that is defined after it or in a region it cannot see.",
        "Reorder the ops. If a pass made this, it is a bug of that pass.",
    ),
    (
        "GE1104",
        "op that does not verify",
        "An op's operands, attributes or result types break a rule of the op.",
        "The message says which. If a pass made this, it is a bug of that pass; --verify-each finds it.",
    ),
    (
        "GE1105",
        "mistake in a rule",
        "A rewrite rule is not well-formed (unknown op, attribute or word, unbound name, sides that do not fit, name "
        "taken), a function of it fails, or what it makes does not verify.",
        "docs/patterns.md shows the language; the error names the line of the rule.",
    ),
    (
        "GE1106",
        "rules without end",
        "Rewrite rules undo each other, or one applies to its own result, so that rewriting does not end.",
        "Switch one of the named rules off, or make its right side different from what they match.",
    ),
    (
        "GE1107",
        "unknown rule, topic or pass",
        "Nothing has the name that an option switches on or off: no rule, topic, pass or label of a kernel.",
        "The error names the nearest; docs/rules.md lists rules and topics, ge-opt --list-passes the passes.",
    ),
    ("GE1108", "text nested too deeply", "Regions, attributes or types are nested too deeply.", "Flatten the input."),
    (
        "GE1109",
        "no graph in the module",
        "The module has no function @main (or several functions), or the function is not one block with an end.",
        "Write the graph as func.func @main with one block, ended by func.return.",
    ),
    ("GE1110", "unknown pass", "A pipeline names a pass nobody has.", "ge-opt --list-passes names them all."),
    (
        "GE1111",
        "wrong pipeline",
        "The text of a pipeline does not parse, or an option of a pass does not exist or has a wrong value.",
        'Write "pass-a,pass-b{option=1 other=true}"; docs/passes.md has the options.',
    ),
    (
        "GE1112",
        "pass that failed",
        "A pass refused the module it was given.",
        "The message says why; the reproducer named below it repeats the failure.",
    ),
    (
        "GE1113",
        "expected errors differ",
        "With --verify-diagnostics: an error was not expected, or an expected one did not come.",
        "Correct the expected-error comment, or the code.",
    ),
    (
        "GE1114",
        "text that does not round-trip",
        "A module, printed and parsed again, differs (round-trip tests only).",
        "Make print and parse of the op or attribute in the diff inverse to each other.",
    ),
    (
        "GE1115",
        "malformed file of rules",
        "A file or package of rewrite rules does not parse, does not run, or holds no rule.",
        "docs/patterns.md has the grammar; the error names the line.",
    ),
    (
        "GE1116",
        "rule that the format cannot say",
        "A rule uses something that the format it is read from or written to has no words for.",
        "Write the rule in Python, or its condition as an expression.",
    ),
    (
        "GE1117",
        "pass that changes the result",
        "With --check-each-pass: the interpreter gives other results after a pass than before it.",
        "The reproducer repeats it; ge-reduce --pass makes the model small. It is a bug of the pass or of one of the "
        "rules it applied, unless the tolerance is too narrow for the model.",
    ),
    # ------------------------------------------------------------ unsupported
    (
        "GE1201",
        "unsupported operators",
        "Nodes of the model have no converter to ge; all are listed, with counts and a node each.",
        "Export the model without them, or add a converter (CONTRIBUTING.md); docs/ops.md lists what is supported.",
    ),
    ("GE1202", "unknown ge op", "The ge dialect has no op of this name.", "docs/ops.md lists them."),
    (
        "GE1203",
        "unsupported type",
        "A value or attribute is no tensor where one is needed (sequences, strings, sparse tensors), or has an element "
        "type that ge lacks.",
        "Export the model with another type.",
    ),
    (
        "GE1204",
        "op the interpreter does not know",
        "The interpreter met an op that is not of the dialects ge and func.",
        "Lower or remove the op first.",
    ),
    (
        "GE1205",
        "unsupported form of an op",
        "The op is known, but not with these attributes, ranks, or operands computed at run time.",
        "Often it helps to fix input shapes (--input-shape), so that sizes become constants.",
    ),
    (
        "GE1206",
        "no kernel",
        "No generator covers a group or op, and a host task was ruled out (--no-host-fallback) or cannot do it.",
        "Leave out --no-host-fallback; group-kernels forms only groups that lowering takes.",
    ),
    # ------------------------------------------------------------ OM files and running them
    ("GE1301", "no OM file", "The file is too short for an OM or does not start like one.", "Is it the right file?"),
    (
        "GE1302",
        "unsupported or damaged OM header",
        "Lengths or version in the header are wrong, or the model is encrypted, dynamic or one of several.",
        "Only plain OM files with one static model can be read; copy a damaged file again.",
    ),
    ("GE1303", "damaged partition table", "Count, types, offsets or sizes of partitions are wrong.", "Copy it again."),
    ("GE1304", "damaged MODEL_INOUT_INFO", "The list of inputs and outputs is malformed.", "Compile the model again."),
    ("GE1305", "damaged MODEL_DEF", "The model's definition is not valid protobuf.", "Compile the model again."),
    ("GE1306", "damaged TBE_KERNELS", "The store of kernels is cut or malformed.", "Compile the model again."),
    (
        "GE1307",
        "task list that cannot be run",
        "TASK_INFO is malformed, has tasks of unknown types, refers to kernels, labels or events that do not exist, "
        "passes arguments a kernel does not take, or never ends.",
        "Compile the model again.",
    ),
    (
        "GE1308",
        "access outside its memory",
        "A task or instruction reads or writes bytes outside its region or memory space.",
        "If the model picks by index (Gather, Scatter, losses), check that the indices given are in range. If the plan "
        "or kernel was edited by hand, run verify-plan. Else it is a bug in gedialect, please report it.",
    ),
    (
        "GE1309",
        "OM that was not made for this version",
        "The file was not made by gedialect or by another version, or its gedialect.* attributes are malformed.",
        "Compile the model again; OM files with machine code of a device do not run on the simulator.",
    ),
    (
        "GE1310",
        "model too large for an OM",
        "Memory or a partition exceeds what the format can address.",
        "Use fp16, smaller inputs, or split the model.",
    ),
    (
        "GE1311",
        "kernel that cannot be encoded",
        "A number or attribute of an instruction has no place in the encoding.",
        "Correct the kernel's text; if a generator made it, it is a bug in gedialect.",
    ),
    ("GE1312", "no kernel of this version", "Bytes are no kernel of ours, or of another version.", "Compile again."),
    ("GE1313", "damaged kernel", "A kernel's bytes are cut short, corrupt, or too many.", "Compile the model again."),
    (
        "GE1314",
        "kernel that breaks a rule",
        "A kernel's code uses operands, types, spaces or loops that the instruction set does not allow.",
        "docs/isa.md states the rules.",
    ),
    (
        "GE1315",
        "deadlock",
        "A core or pipe waits for a flag that nothing sets.",
        "Run with --sanitize, which names the instruction; npu-insert-sync writes flags that cannot deadlock.",
    ),
    (
        "GE1316",
        "faults found by the sanitizer",
        "A kernel reads bytes nobody wrote, pipes race, or flags do not match; all are listed.",
        "Each line names the instruction at fault.",
    ),
    (
        "GE1317",
        "kernel that runs too long",
        "The loops of a kernel take more steps than can be simulated; files of the compiler stay far below.",
        "Is the file damaged? Compile the model again, with smaller sizes if it is not.",
    ),
    # ------------------------------------------------------------ plans, kernels, tiles
    (
        "GE1401",
        "overlapping buffers",
        "Two values that are needed at the same time share bytes.",
        "Offsets in `place` were changed by hand; otherwise it is a bug of plan-memory, please report it.",
    ),
    (
        "GE1402",
        "tile that does not fit",
        "A kernel's tiles exceed an on-chip memory, or its tile is not of the form the generator takes.",
        "Use smaller tiles in the kernel attribute, or leave it out: select-kernels then chooses.",
    ),
    (
        "GE1403",
        "synchronised twice",
        "npu-insert-sync met a kernel that has flags or barriers already.",
        "Take them out: the pass writes all of them itself.",
    ),
    (
        "GE1404",
        "missing decision",
        "A kernel, place, workspace size or tile address is needed and has not been decided yet.",
        "Run the pass the message names: select-kernels, plan-memory or npu-allocate.",
    ),
    (
        "GE1405",
        "malformed plan",
        "A place is missing, superfluous, misaligned or out of bounds, or an output buffer is not what is returned.",
        "Run plan-memory again.",
    ),
    # ------------------------------------------------------------ inside
    (
        "GE1901",
        "internal error",
        "Something failed that nobody expected.",
        f"{_REPORT} GEDIALECT_TRACEBACK=1 shows where.",
    ),
    ("GE1902", "inconsistent result of a pass", "A model, group or kernel that was built contradicts itself.", _REPORT),
    (
        "GE1903",
        "op without result type",
        "Code that builds an op whose result types do not follow from its operands did not give them.",
        "Give `results` to make() or to the builder.",
    ),
    ("GE1905", "out of memory", "Memory ran out.", "Give a smaller model or more memory."),
)

CATALOGUE: dict[str, ErrorCode] = {e[0]: ErrorCode(*e) for e in _ENTRIES}
"""Code -> entry, in order."""


def by_range() -> Iterator[tuple[str, list[ErrorCode]]]:
    """(range's title, its entries), in order."""
    for digits, title in RANGES.items():
        yield title, [e for e in CATALOGUE.values() if e.code[2:4] == digits]
