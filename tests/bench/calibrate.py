"""Compares seeded corpora with real sessions by the same measurements, side by side. Run by scripts/calibrate.

Figures that depend on the amount of text, such as repeated lines and new words, are taken over the same amount of text in
all trees. Files are read in an order that does not depend on their names, until one tree has no more.
"""

import argparse
import hashlib
import json
import re
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

import reader

REPO = Path(__file__).resolve().parent.parent.parent
SAMPLE = REPO.parent / "shared/corpus/real-sample.tar.xz"
WORD = re.compile(r"\w+")
# Shorter lines are not counted, because they repeat in every text.
LINE = 20
# Number of words in a shingle.
SHINGLE = 8
# Kinds with a smaller share in both trees are not shown.
SMALLEST = 0.004
# Classes of terms, which may overlap.
CLASSES = [
    ("numbers", re.compile(r"\d+")),
    ("hexadecimal, 6 and more", re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{6,}")),
    ("letters only", re.compile(r"[a-z]+")),
    ("with _", re.compile(r"(?=.*[a-z])\w*_\w*")),
    ("longer than 12", re.compile(r"\w{13,}")),
    ("not ASCII", re.compile(r".*[^\x00-\x7f].*")),
]


def main():
    options = arguments()
    work = Path(tempfile.mkdtemp(prefix="unspool-calibrate-"))
    try:
        real = options.real or unpacked(work)
        seeds = range(1, options.seeds + 1)
        roots = [options.corpus] if options.corpus else [corpus(work, options.size, seed) for seed in seeds]
        trees = [Tree(root, work / f"text-{at}") for at, root in enumerate([real, *roots] if real else roots)]
        common = min(tree.terms for tree in trees)
        columns = [dict(tree.rows(common)) for tree in trees]
        show([*columns[:1], mean(columns[1:])] if real else [mean(columns)])
        if not real:
            print(f"\nOnly generated sessions: there is no --real and no {SAMPLE}.")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/calibrate")
    parser.add_argument("--real", type=Path, metavar="DIR", help="real sessions (default: the shared sample)")
    parser.add_argument("--size", default="200M", help="size of each seeded corpus (default: %(default)s)")
    parser.add_argument("--seeds", default=1, type=int, metavar="N", help="show the mean of N corpora (default: 1)")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="measure this corpus instead of generating one")
    return parser.parse_args()


def corpus(work, size, seed):
    place = work / f"corpus-{seed}"
    command = [REPO / "scripts/corpus", place, "--size", size, "--seed", str(seed)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return place


def unpacked(work):
    """Unpacks the shared sample, if there is one."""
    if not SAMPLE.is_file():
        return None
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(work / "sample", filter="data")
    return work / "sample"


def mean(columns):
    """Averages the measurements of several trees. A missing measurement counts as zero."""
    return {name: statistics.fmean(column.get(name) or 0 for column in columns) for name in order(columns)}


class Tree:
    """The texts in a tree of sessions, with counts taken while reading them."""

    def __init__(self, root, work):
        self.work = work
        work.mkdir()
        self.files = []
        self.sizes, self.words_in = [], []
        self.lines, self.line_bytes, self.kinds, self.kind_bytes = Counter(), Counter(), Counter(), Counter()
        self.line_lengths, self.lines_in = [], []
        self.uuids, self.copied = set(), 0
        projects = Path(root) / "projects"
        self.raw = projects if projects.is_dir() else Path(root)
        paths = [path for path in self.raw.rglob("*.jsonl") if path.name != "journal.jsonl" and "memory" not in path.parts]
        # A hash of the name gives the same order every time, with projects mixed.
        for path in sorted(paths, key=lambda path: hashlib.md5(str(path.relative_to(self.raw)).encode()).digest()):
            self.read(path)
        self.terms = sum(self.words_in)

    def read(self, path):
        tools, texts = {}, []
        with open(path, "rb") as file:
            lengths = [len(line) for line in file]
        self.line_lengths += lengths
        self.lines_in.append(len(lengths))
        for entry, length in entries(path):
            kind = line_kind(entry)
            self.lines[kind] += 1
            self.line_bytes[kind] += length
            uuid = entry.get("uuid")
            if uuid:
                self.copied += length if uuid in self.uuids else 0
                self.uuids.add(uuid)
            found = [text.encode("utf-8", "replace").decode() for _, text in reader.texts(entry, tools)]
            for name, text in zip(document_kinds(entry, tools), found, strict=True):
                size = len(text.encode())
                self.kinds[name] += 1
                self.kind_bytes[name] += size
                self.sizes.append(size)
                self.words_in.append(sum(1 for _ in WORD.finditer(text)))
                texts.append(text)
        whole = self.work / f"{len(self.files):05}.txt"
        whole.write_text("\n".join(texts), "utf-8")
        self.files.append({"path": path, "size": sum(lengths), "texts": texts})

    def rows(self, common):
        """Yields names and values of the measurements; names with `# ` are headings."""
        source, text = sum(file["size"] for file in self.files), sum(self.sizes)
        agents = [file["size"] for file in self.files if file["path"].name.startswith("agent-")]
        yield "source, MB", source / 1e6
        yield "text bytes / source byte", text / source
        yield from spread("bytes per file", [file["size"] for file in self.files])
        yield "files of subagents, share", len(agents) / len(self.files)
        yield "files of subagents, share of bytes", sum(agents) / source
        yield from spread("lines per file", self.lines_in)
        yield from spread("bytes per line", self.line_lengths)
        yield "bytes in lines copied from elsewhere", self.copied / source
        yield "# documents", None
        yield "documents per MB of source", len(self.sizes) / source * 1e6
        yield from spread("bytes per document", self.sizes)
        yield from spread("terms per document", self.words_in)
        yield "bytes per term", text / self.terms
        yield "# repeated text", None
        yield from self.repeats(common)
        yield "# vocabulary", None
        yield from self.vocabulary(common)
        yield "# zstd -3", None
        yield from self.compression()
        yield from shares("lines by type", self.lines)
        yield from shares("line bytes by type", self.line_bytes)
        yield from shares("documents by kind", self.kinds)
        yield from shares("text bytes by kind", self.kind_bytes)

    def first(self, terms):
        """Yields the texts of each file with their words, up to that many terms."""
        for file in self.files:
            kept, taken = [], 0
            for text in file["texts"]:
                words = WORD.findall(text)
                kept.append((text, words))
                taken += len(words)
                if taken >= terms:
                    break
            yield kept
            terms -= taken
            if terms <= 0:
                return

    def repeats(self, common):
        everywhere, near, far, total = set(), 0, 0, 0
        shingles, shingles_near, shingles_far, shingle_count = set(), 0, 0, 0
        for texts in self.first(common):
            here, shingles_here = set(), set()
            for text, words in texts:
                for line in text.split("\n"):
                    line = line.strip()
                    if len(line) < LINE:
                        continue
                    mark = hash(line)
                    total += len(line)
                    near += len(line) if mark in here else 0
                    far += len(line) if mark in everywhere else 0
                    here.add(mark)
                    everywhere.add(mark)
                for at in range(len(words) - SHINGLE + 1):
                    mark = hash(tuple(words[at : at + SHINGLE]))
                    shingle_count += 1
                    shingles_near += mark in shingles_here
                    shingles_far += mark in shingles
                    shingles_here.add(mark)
                    shingles.add(mark)
        yield "bytes in lines seen before in the file", near / total
        yield "bytes in lines seen before in the tree", far / total
        yield f"{SHINGLE} words seen before in the file", shingles_near / shingle_count
        yield f"{SHINGLE} words seen before in the tree", shingles_far / shingle_count

    def vocabulary(self, common):
        counts = Counter()
        seen, postings = 0, 0
        marks = [count for count in (300_000, 1_000_000, 3_000_000, 10_000_000) if count < common]
        for texts in self.first(common):
            for _, words in texts:
                lower = [word.lower() for word in words]
                counts.update(lower)
                seen += len(lower)
                postings += len(set(lower))
            while marks and seen >= marks[0]:
                yield f"distinct terms in {marks.pop(0) / 1e6:.1f} million", len(counts)
        yield "distinct terms per million terms", len(counts) / seen * 1e6
        once = sum(1 for count in counts.values() if count == 1)
        yield "terms that occur once, of distinct ones", once / len(counts)
        yield "terms that occur once, of all", once / seen
        for most in (10, 100, 1000, 10_000):
            yield f"share of the {most} most frequent terms", sum(count for _, count in counts.most_common(most)) / seen
        yield "bytes per distinct term", statistics.fmean(len(term.encode()) for term in counts)
        for name, pattern in CLASSES:
            of = [count for term, count in counts.items() if pattern.fullmatch(term)]
            yield f"  {name}, of distinct", len(of) / len(counts)
            yield f"  {name}, of all", sum(of) / seen
        yield "distinct terms per document / terms", postings / seen

    def compression(self):
        whole = self.work / "all"
        yield "text, file by file", zstd("-r", self.work)
        with open(whole, "wb") as out:
            for file in sorted(self.work.glob("*.txt")):
                out.write(file.read_bytes())
        yield "text, in blocks of 16 KB", zstd("-B16KB", whole)
        yield "text, in blocks of 64 KB", zstd("-B64KB", whole)
        whole.unlink()
        yield "raw lines, file by file", zstd("-r", self.raw)


def entries(path):
    """Yields each entry of a transcript and the length of its line."""
    with open(path, "rb") as file:
        for line in file:
            try:
                entry = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry, len(line)


def line_kind(entry):
    kind = entry.get("type") or "?"
    if kind == "progress":
        return f"progress {(entry.get('data') or {}).get('type')}"
    if kind == "attachment":
        return f"attachment {(entry.get('attachment') or {}).get('type')}"
    if kind == "system":
        return f"system {entry.get('subtype')}"
    if kind in ("user", "assistant"):
        blocks = block_kinds(entry)
        return f"{kind} {blocks[0]}" if blocks else kind
    return kind


def block_kinds(entry):
    content = (entry.get("message") or {}).get("content")
    if isinstance(content, str):
        return ["text"]
    return [block.get("type") for block in content or [] if isinstance(block, dict)]


def document_kinds(entry, tools):
    """Yields the kinds of the documents of an entry, in the order of reader.texts."""
    kind = entry.get("type")
    if kind in ("user", "assistant"):
        content = (entry.get("message") or {}).get("content")
        if isinstance(content, str):
            content = [{"type": "text"}]
        for block in content or []:
            what = block.get("type") if isinstance(block, dict) else None
            if what == "text":
                yield prompt_kind(entry) if kind == "user" else "reply"
            elif what == "thinking":
                yield "thinking"
            elif what == "tool_use":
                yield f"call {tool_name(block.get('name'))}"
            elif what == "tool_result":
                yield f"result {tool_name(tools.get(block.get('tool_use_id')))}"
    elif kind == "progress":
        data = entry.get("data") or {}
        if data.get("type") == "agent_progress" and isinstance(data.get("message"), dict):
            for name in document_kinds(data["message"], tools):
                yield "agent progress"
    elif kind == "attachment":
        found = (entry.get("attachment") or {}).get("type")
        if found == "queued_command" or found not in reader.SILENT:
            yield f"attachment {found}"
    elif kind in ("system", "queue-operation"):
        if entry.get("content"):
            yield kind
    elif kind in reader.TITLES:
        yield "title"
    elif kind in ("file-history-snapshot", "pr-link"):
        yield kind


def prompt_kind(entry):
    if entry.get("isCompactSummary"):
        return "compact summary"
    if entry.get("isMeta"):
        return "meta prompt"
    return "prompt of a subagent" if entry.get("isSidechain") else "prompt"


def tool_name(name):
    name = str(name)
    return "mcp" if name.startswith("mcp__") else name


def spread(name, values):
    values = sorted(values)
    for share in (0.1, 0.5, 0.9, 0.99):
        yield f"{name}, p{share * 100:.0f}", values[int(share * (len(values) - 1))]
    yield f"{name}, max", values[-1]
    yield f"{name}, mean", statistics.fmean(values)


def shares(title, counts):
    yield f"# {title}", None
    total = counts.total()
    for name, count in counts.most_common():
        yield f"{title}: {name}", count / total


def zstd(*what):
    """Returns the compression ratio, with each file or block compressed separately."""
    command = ["zstd", "-b3", "-e3", "-i0", *map(str, what)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(re.findall(r"\(x?([0-9.]+)\)", out.stdout + out.stderr)[-1])


def show(rows):
    names = ["real", "generated"][-len(rows) :]
    print(f"{'':<52}" + "".join(f"{name:>12}" for name in names) + (f"{'ratio':>9}" if len(rows) > 1 else ""))
    for name in order(rows):
        values = [row.get(name) for row in rows]
        if name.startswith("# "):
            print(f"\n{name[2:]}")
            continue
        if ": " in name:
            if max(value or 0 for value in values) < SMALLEST:
                continue
            name = "  " + name.split(": ", 1)[1]
        line = f"{name:<52}" + "".join(f"{number(value):>12}" for value in values)
        if len(values) > 1 and values[0] and values[1] is not None:
            ratio = values[1] / values[0]
            line += f"{ratio:>9.2f}{'' if 1 / 1.15 <= ratio <= 1.15 else ' *' if 1 / 1.5 <= ratio <= 1.5 else ' **'}"
        print(line)
    if len(rows) > 1:
        print("\n* differs by more than 15 %, ** by more than half")


def order(rows):
    """Lists the names of all measurements. Names that the first tree does not have go to the end of their section."""
    names = list(rows[0])
    for row in rows[1:]:
        part = None
        for name in row:
            if name.startswith("# "):
                part = name
            elif name not in names:
                later = [at for at, other in enumerate(names) if other.startswith("# ") and at > names.index(part)]
                names.insert(later[0] if later else len(names), name)
    return names


def number(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


if __name__ == "__main__":
    main()
