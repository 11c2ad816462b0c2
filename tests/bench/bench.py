"""Compares unspool with lower bounds and other engines. Run by scripts/bench.

Most figures are ratios of two measurements from the same run on the same machine, because absolute times say more
about the machine than about the program. The raw times are saved in tests/bench/runs.
"""

import argparse
import json
import multiprocessing
import os
import platform
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import calibrate
import reader
from terminal import Terminal

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
# Buffer for answers, and destination of everything on stderr.
ANSWER = bytearray(1 << 20)
NOWHERE = os.open(os.devnull, os.O_WRONLY)


def main():
    options = arguments()
    work = Path(tempfile.mkdtemp(prefix="unspool-bench-"))
    try:
        root = options.root or corpus(work, options.size)
        bench = Bench(options, root, work)
        rows = bench.all()
        show(rows, bench.raw)
        real_rows = on_real(options, bench, work)
        keep(rows + real_rows, bench.raw, options)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unspool", required=True, type=Path)
    parser.add_argument("--floor", required=True, type=Path)
    parser.add_argument("--size", default="1G")
    parser.add_argument("--root", type=Path)
    parser.add_argument("--real", type=Path, metavar="DIR", help="also measure real sessions (default: the shared sample)")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--queries", default=100, type=int)
    parser.add_argument("--growth", metavar="SIZE", help="also measure a seeded corpus of this size, 8G say, for the rows of growth")
    return parser.parse_args()


def on_real(options, bench, work):
    """Measures and shows the rows that make sense for a few dozen megabytes of real sessions, if there are any."""
    root = options.real or (None if options.root else calibrate.unpacked(work))
    if not root:
        return []
    (work / "real").mkdir()
    real = Bench(argparse.Namespace(**vars(options) | {"root": root}), root, work / "real")
    rows = real.sessions()
    print()
    show(rows, real.raw)
    bench.raw["real"] = real.raw
    return [one | {"name": f"real sessions: {one['name']}"} for one in rows]


def corpus(work, size):
    corpus_at(work / "corpus", size)
    return work / "corpus"


def corpus_at(place, size):
    subprocess.run([REPO / "scripts/corpus", place, "--size", size], check=True, stdout=subprocess.DEVNULL)


def apart(work):
    """Calls a function in a separate process. Otherwise its memory would count for all programs started later."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=lambda: theirs.send(work()))
    process.start()
    answer = ours.recv()
    process.join()
    return answer


class Bench:
    def __init__(self, options, root, work):
        self.options, self.root, self.work = options, root, work
        self.index = work / "index"
        # A copy, like an installed program. A linker leaves a file in single pages, which are slow to map.
        self.program = shutil.copy(options.unspool, work / "unspool")
        self.raw = {"root": str(options.root or f"corpus {options.size}"), "machine": machine()}

    def all(self):
        warm(self.root)
        rows = []
        rows += self.full_index()
        rows += self.no_op()
        rows += self.append()
        rows += self.search()
        rows += self.file()
        rows += self.commands()
        rows += self.exact()
        rows += self.resident()
        rows += self.terminal()
        rows += self.growth()
        return rows

    def sessions(self):
        """Returns the rows for real sessions: the costs of indexing and searching them."""
        warm(self.root)
        runs, floors = [], []
        for _ in range(self.options.rounds):
            shutil.rmtree(self.index, ignore_errors=True)
            runs.append(self.unspool("index", "--quiet", check=False))
            floors.append(self.tantivy_alone())
        source = tree_bytes(self.root / "projects" if (self.root / "projects").is_dir() else self.root)
        size = tree_bytes(self.index)
        self.raw["full"] = {"runs": runs, "floors": floors, "source_bytes": source, "index_bytes": size}
        cpu, floor = (min(run["cpu"] for run in of) for of in (runs, floors))
        self.no_op()
        return [
            row("full index: CPU / CPU of tantivy alone", cpu / floor, 1.35, 1.15),
            row("full index: peak memory, MB", max(run["rss_mb"] for run in runs), 300, 200),
            row("index size / source size", size / source, 0.22, 0.15),
            # The limits apply to a corpus so large that the time to start a process does not matter.
            *(one | {"must": None, "aim": None} for one in self.search()),
        ]

    def unspool(self, *args, check=True):
        command = [self.program, "--root", self.root, "--index-dir", self.index, *args]
        return timed(command, check=check)

    def full_index(self):
        """Measures full indexing. Each round runs every program, so that other load affects all of them alike."""
        text = self.work / "text.jsonl"
        with open(text, "wb") as out:
            subprocess.run([self.options.floor, "text", self.root], check=True, stdout=out)
        runs, floors, fed, read = [], [], [], []
        for _ in range(self.options.rounds):
            shutil.rmtree(self.index, ignore_errors=True)
            runs.append(self.unspool("index", "--quiet", check=False))
            floors.append(self.tantivy_alone())
            fed.append(apart(lambda: self.sqlite([json.loads(line) for line in open(text, encoding="utf-8")])))
            read.append(apart(lambda: self.sqlite(reader.documents(self.root))))
        text.unlink()
        source = tree_bytes(self.root / "projects" if (self.root / "projects").is_dir() else self.root)
        size = tree_bytes(self.index)
        best = min(runs, key=lambda run: run["cpu"])
        cpu = min(run["cpu"] for run in floors)
        wall, fed_wall, read_wall = (min(run["wall"] for run in of) for of in (runs, fed, read))
        self.raw["full"] = {"runs": runs, "floors": floors, "source_bytes": source, "index_bytes": size}
        self.raw["fts5"] = {"fed": fed, "read": read}
        return [
            row("full index: CPU / CPU of tantivy alone", best["cpu"] / cpu, 1.35, 1.15),
            row("full index: wall × cores / CPU", best["wall"] * os.cpu_count() / best["cpu"], 1.3, 1.1),
            row("full index: time / Python reading the same text into FTS5", wall / read_wall, 0.5, 0.25),
            row("  the same without reading: FTS5 fed from memory", wall / fed_wall, None, None),
            row("  characters Python reads / characters unspool reads", read[0]["characters"] / fed[0]["characters"], None, None),
            row("full index: peak memory, MB", max(run["rss_mb"] for run in runs), 300, 200),
            row("index size / source size", size / source, 0.22, 0.15),
        ]

    def tantivy_alone(self):
        floor_dir = self.work / "floor"
        shutil.rmtree(floor_dir, ignore_errors=True)
        out = subprocess.run([self.options.floor, "tantivy", self.root, floor_dir], check=True, capture_output=True)
        shutil.rmtree(floor_dir, ignore_errors=True)
        return json.loads(out.stdout)

    def sqlite(self, rows):
        database = self.work / "fts5.db"
        characters = 0

        def counted():
            nonlocal characters
            for one in rows:
                characters += len(one[2])
                yield one

        start = time.perf_counter()
        connection = sqlite3.connect(database)
        connection.execute("CREATE VIRTUAL TABLE documents USING fts5(session UNINDEXED, kind UNINDEXED, text)")
        connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", counted())
        connection.commit()
        connection.close()
        seconds = time.perf_counter() - start
        database.unlink()
        return {"wall": seconds, "characters": characters}

    def no_op(self):
        runs = [self.unspool("index", "--quiet")["wall"] for _ in range(15)]
        find = [timed(["find", self.root, "-printf", "%s %T@ %p\\n"])["wall"] for _ in range(15)]
        self.raw["no_op"] = {"runs": runs, "find": find}
        return [row("no-op run / find -printf", statistics.median(runs) / statistics.median(find), 3, 1.5)]

    def append(self):
        """Measures the time until one appended line can be found."""
        if self.options.root:
            return []
        target = sorted((self.root / "projects").glob("*/*.jsonl"))[0]
        walls = []
        for number in range(15):
            line = json.dumps({"type": "user", "uuid": f"bench-{number}", "message": {"content": f"appended bench{number}x"}})
            with open(target, "a", encoding="utf-8") as out:
                out.write(line + "\n")
            walls.append(self.unspool("index", "--quiet")["wall"])
            found = self.unspool("search", "--no-refresh", f"bench{number}x", check=False)
            assert found["code"] == 0, "the appended line was not found"
        no_op = statistics.median(self.raw["no_op"]["runs"])
        # A copy, because the bare commits add documents of their own.
        bare = shutil.copytree(next(path.parent for path in self.index.glob("*/meta.json")), self.work / "bare")
        out = subprocess.run([self.options.floor, "commit", bare, "15"], check=True, capture_output=True, text=True)
        shutil.rmtree(bare)
        commits = [float(line) for line in out.stdout.split()]
        self.raw["append"] = {"runs": walls, "commits": commits}
        return [row("append a line: (time − no-op) / bare tantivy commit", (statistics.median(walls) - no_op) / statistics.median(commits), 1.5, 1.1)]

    def search(self):
        queries = self.queries()
        folder = self.root / "projects" if (self.root / "projects").is_dir() else self.root
        timed_runs, rg = [], []
        # Runs of ripgrep are interleaved, so that other load affects both alike.
        between = max(1, len(queries) // 33)
        for number, query in enumerate(queries):
            timed_runs.append(self.unspool("search", "--no-refresh", query, check=False)["wall"])
            if number % between == 0 and shutil.which("rg"):
                # The same query: lines that contain any of the words, here without ranking.
                words = [part for word in query.split() for part in ("-e", word)]
                rg.append(timed(["rg", "-i", "--no-ignore", "--hidden", *words, folder], check=False)["wall"])
        fresh = [self.unspool("search", query, check=False)["wall"] for query in queries[:20]]
        rows = []
        median = statistics.median(timed_runs)
        self.raw["search"] = {"queries": queries, "runs": timed_runs, "with_refresh": fresh}
        if rg:
            self.raw["search"]["rg"] = rg
            rows.append(row("cold search / rg -i over the raw files", median / statistics.median(rg), 1 / 40, 1 / 100))
        no_op = statistics.median(self.raw["no_op"]["runs"])
        rows.append(row("cold search with refresh / max(no-op, search without)", statistics.median(fresh) / max(no_op, median), 1.15, None))
        ordered = sorted(timed_runs)
        rows.append(row("search: p99 / p50", ordered[int(len(ordered) * 0.99) - 1] / median, 4, 2))
        return rows

    def file(self):
        """Compares the history of a file with a search."""
        paths = self.edited_paths(15)
        walls = [self.unspool("file", "--no-refresh", path, check=False)["wall"] for path in paths]
        search = statistics.median(self.raw["search"]["runs"])
        self.raw["file"] = {"paths": paths, "runs": walls}
        return [row("file PATH / cold search", statistics.median(walls) / search, 3, None)] if walls else []

    def commands(self):
        """Compares commands that do not show hits with a search."""
        search = statistics.median(self.raw["search"]["runs"])
        self.raw["commands"], rows = {}, []
        for name, (args, must) in self.other_commands().items():
            walls = [self.unspool(*args, check=False)["wall"] for _ in range(9)]
            self.raw["commands"][name] = walls
            rows.append(row(f"{name} / cold search", statistics.median(walls) / search, must, None))
        return rows

    def other_commands(self):
        """Returns commands that do not show hits: arguments, and the most time each may take in searches."""
        first = self.queries()[0].split()[0]
        found = subprocess.run(
            [self.program, "--root", self.root, "--index-dir", self.index, "search", "--no-refresh", "--json", "-n", "1", first],
            capture_output=True, text=True)
        hits = [one for one in map(json.loads, found.stdout.splitlines()) if one["type"] == "hit" and one["uuid"]]
        show = {"show at a hit": (["show", "--no-refresh", hits[0]["uuid"]], 3)} if hits else {}
        return {
            "sessions -n 20": (["sessions", "--no-refresh", "-n", "20"], 3),
            "status": (["status"], 3),
            **show,
            "stats": (["stats", "--no-refresh"], 20),
        }

    def exact(self):
        """Compares exact searches, which have to read the texts, with ripgrep over the raw files."""
        if not shutil.which("rg"):
            return []
        folder = self.root / "projects" if (self.root / "projects").is_dir() else self.root
        questions = {"-F -c": (["-F", "error"], ["-F", "error"]), "/regex/ -c": (["/err[a-z]+ in/"], ["err[a-z]+ in"])}
        self.raw["exact"], rows = {}, []
        for name, (ours, theirs) in questions.items():
            pairs = [(self.unspool("search", "--no-refresh", "-c", *ours, check=False)["wall"],
                      timed(["rg", "-c", "--no-ignore", "--hidden", *theirs, folder], check=False)["wall"]) for _ in range(5)]
            self.raw["exact"][name] = pairs
            own, rg = (statistics.median(walls) for walls in zip(*pairs))
            rows.append(row(f"search {name} / rg -c", own / rg, 1 / 8, None))
        return rows

    def resident(self):
        """Measures searches in a process that keeps the archive open, and its memory after many of them."""
        out = subprocess.run([self.options.floor, "resident", self.root, self.index, "10000"],
                             input="\n".join(self.queries()), check=True, capture_output=True, text=True)
        measured = json.loads(out.stdout)
        self.raw["resident"] = measured
        search = statistics.median(self.raw["search"]["runs"]) * 1000
        return [
            row("search in a running process: p50 / cold search", measured["p50_ms"] / search, None, None),
            row("search in a running process: p95 / cold search", measured["p95_ms"] / search, None, None),
            row("memory after 10,000 searches / after 1,000", measured["rss_end"] / measured["rss_begin"], 1.1, None),
        ]

    def terminal(self):
        """Measures the terminal UI: the time from a key to its echo, to the results and to the open conversation."""
        command = [str(part) for part in (self.program, "--root", self.root, "--index-dir", self.index, "tui")]
        ui = Terminal(command)
        first_frame, list_painted = ui.painted(ui.started)
        echoes, results, opened, steps = [], [], [], []
        for query in self.queries()[:25]:
            for letter in query:
                echo, result = ui.press(letter)
                echoes.append(echo * 1000)
                results.append(result * 1000)
            opened.append(ui.press("\r")[1] * 1000)
            steps += [ui.press("n")[0] * 1000 for _ in range(3)]
            ui.press("q")
            ui.press("\x15")
        memory = ui.memory_mb()
        ui.end()
        figures = {"echo": echoes, "results": results, "open": opened, "next_hit": steps}
        share = lambda of, percent: sorted(of)[min(len(of) - 1, len(of) * percent // 100)]
        self.raw["terminal"] = {
            "first_frame_ms": first_frame * 1000, "list_ms": list_painted * 1000, "memory_mb": memory,
            **{name: {"p50_ms": share(of, 50), "p95_ms": share(of, 95), "max_ms": max(of), "count": len(of)} for name, of in figures.items()},
        }
        p50 = self.raw["resident"]["p50_ms"]
        return [
            row("terminal: key to results p50 / search in a running process", share(results, 50) / p50, None, None),
            row("terminal: key to echo p95, ms", share(echoes, 95), 16, None),
            row("terminal: key to results p50, ms", share(results, 50), 30, None),
            row("terminal: key to results p95, ms", share(results, 95), 60, None),
            row("terminal: open at a hit p95, ms", share(opened, 95), 150, 50),
            row("terminal: next hit p95, ms", share(steps, 95), 16, None),
            row("terminal: first frame, ms", first_frame * 1000, 50, None),
            row("terminal: memory, MB", memory, 150, None),
        ]

    def edited_paths(self, count):
        rng = random.Random(7)
        found = set()
        files = sorted(self.root.rglob("*.jsonl"))
        for path in rng.sample(files, min(200, len(files))):
            with open(path, "rb") as file:
                text = file.read(400_000).decode("utf-8", "replace")
            found.update(re.findall(r'"(?:name)":"(?:Edit|Write)"[^{}]*\{"file_path":"([^"\\]+)"', text))
        return rng.sample(sorted(found), min(count, len(found)))

    def growth(self):
        """Compares the costs per byte and per search with those in a larger corpus."""
        if not self.options.growth or self.options.root:
            return []
        small, large = (self.root, self.index), (self.work / "large", self.work / "large-index")
        corpus_at(large[0], self.options.growth)
        warm(large[0])
        # The small corpus is indexed before and after the large one, to compensate for drift of the machine.
        runs = []
        for root, index in (small, large, small):
            self.root, self.index = root, index
            shutil.rmtree(index, ignore_errors=True)
            runs.append(self.unspool("index", "--quiet", check=False) | {"source_bytes": tree_bytes(root / "projects")})
        costs = [run["cpu"] / run["source_bytes"] for run in runs]
        walls = ([], [])
        for queries in zip(self.queries()[:50], self.queries_of(large[0])[:50]):
            for place, query, own in zip((small, large), queries, walls):
                self.root, self.index = place
                own.append(self.unspool("search", "--no-refresh", query, check=False)["wall"])
        searches = [statistics.median(own) for own in walls]
        others = {}
        for place, search in zip((small, large), searches):
            self.root, self.index = place
            for name, (args, _) in self.other_commands().items():
                took = statistics.median(self.unspool(*args, check=False)["wall"] for _ in range(9))
                others.setdefault(name, []).append(took / search)
        self.raw["growth"] = {
            "runs": runs, "index_bytes": tree_bytes(large[1]),
            "search": walls[1], "search_small": walls[0], "in_searches": others,
        }
        return [
            row(f"full index: CPU a byte at {self.options.growth} / at {self.options.size}", costs[1] * 2 / (costs[0] + costs[2]), 1.25, 1.1),
            row(f"full index at {self.options.growth}: peak memory, MB", runs[1]["rss_mb"], 300, 200),
            row(f"cold search at {self.options.growth} / at {self.options.size}", searches[1] / searches[0], 2, 1.3),
            *(
                row(f"{name} / cold search: at {self.options.growth} / at {self.options.size}", times[1] / times[0], 1.5, None)
                for name, times in others.items() if name != "stats" and len(times) == 2
            ),
        ]

    def queries(self):
        return self.queries_of(self.root)

    def queries_of(self, root):
        """Returns queries of one to three words and identifiers drawn from the text itself."""
        rng = random.Random(7)
        words = set()
        files = sorted((root / "projects").glob("*/*.jsonl")) if (root / "projects").is_dir() else sorted(root.glob("*/*.jsonl"))
        for path in rng.sample(files, min(40, len(files))):
            with open(path, "rb") as file:
                text = file.read(200_000).decode("utf-8", "replace")
            found = re.findall(r"\b[A-Za-z_][A-Za-z0-9_]{3,20}\b", text)
            words.update(rng.sample(found, min(30, len(found))))
        words = sorted(words)
        return [" ".join(rng.sample(words, rng.choice([1, 2, 2, 3]))) for _ in range(self.options.queries)]


def row(name, value, must, aim):
    return {"name": name, "value": value, "must": must, "aim": aim}


def timed(command, check=True):
    """Runs a command and measures the time until it has exited and its output is read.

    Uses posix_spawn, because the subprocess module adds a millisecond even for a program that does nothing.
    """
    command = [str(part) for part in command]
    ours, theirs = os.pipe()
    output = [(os.POSIX_SPAWN_DUP2, theirs, 1), (os.POSIX_SPAWN_DUP2, NOWHERE, 2)]
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=output)
    os.close(theirs)
    while os.readv(ours, [ANSWER]):
        pass
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    os.close(ours)
    code = os.waitstatus_to_exitcode(status)
    if check and code not in (0, 3):
        raise SystemExit(f"{command} ended with {code}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss_mb": usage.ru_maxrss / 1024, "code": code}


def warm(root):
    for path in Path(root).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                while file.read(1 << 20):
                    pass


def tree_bytes(root):
    return sum(path.stat().st_size for path in Path(root).rglob("*") if path.is_file())


def machine():
    return {"cpus": os.cpu_count(), "arch": platform.machine(), "kernel": platform.release()}


def show(rows, raw):
    print(f"{'measured on ' + raw['root']:<58} {'ratio':>8} {'must':>8} {'aim':>8}")
    for one in rows:
        limit = lambda number: "" if number is None else f"{number:.3g}"
        mark = "" if one["must"] is None or one["value"] <= one["must"] else "  ✗"
        print(f"{one['name']:<58} {one['value']:>8.3f} {limit(one['must']):>8} {limit(one['aim']):>8}{mark}")


def keep(rows, raw, options):
    runs = HERE / "runs"
    runs.mkdir(exist_ok=True)
    name = f"{time.strftime('%Y-%m-%d')}-{platform.machine()}-{os.cpu_count()}cpu-{'root' if options.root else options.size}.json"
    (runs / name).write_text(json.dumps({"rows": rows, "raw": raw}, indent=1) + "\n")


if __name__ == "__main__":
    main()
