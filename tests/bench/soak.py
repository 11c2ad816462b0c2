"""Runs unspool for a long time and prints what grows. Run by scripts/soak."""

import glob
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def session(number):
    return f"5e550000-0000-4000-8000-{number:012x}"


def line(number, count, text):
    """Returns a user line as Claude Code writes it."""
    record = {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/u/x",
        "sessionId": session(number), "version": "2.1.200", "gitBranch": "main", "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": f"{number:08x}-{count % 65536:04x}-4000-8000-{count:012x}",
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
    }
    return json.dumps(record) + "\n"


def word(number):
    """Returns a unique word of letters. A word with digits would also be found by its parts."""
    letters = ""
    while number:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return "zq" + letters + "qz"


class World:
    """A home directory, an index, and the program."""

    def __init__(self, program):
        self.program = program
        self.dir = tempfile.mkdtemp(prefix="unspool-soak-")
        self.index = os.path.join(self.dir, "index")
        self.projects = os.path.join(self.dir, "home/.claude/projects/-home-u-x")
        os.makedirs(self.projects)
        self.env = {"HOME": os.path.join(self.dir, "home"), "UNSPOOL_INDEX_DIR": self.index, "PATH": "/usr/bin:/bin"}

    def append(self, number, count, text):
        with open(os.path.join(self.projects, session(number) + ".jsonl"), "a", encoding="utf-8") as file:
            file.write(line(number, count, text))

    def run(self, *args):
        return subprocess.run([self.program, *args], env=self.env, capture_output=True, text=True)

    def index_peak(self):
        """Runs `unspool index` and returns its peak memory in kB and its CPU time in seconds."""
        pid = os.posix_spawn(self.program, [self.program, "index", "--quiet"], self.env)
        _, status, usage = os.wait4(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
        return usage.ru_maxrss, usage.ru_utime + usage.ru_stime

    def found(self, text):
        hits = self.run("search", "--no-refresh", "--json", text).stdout.splitlines()
        # A hit can also be a near miss. Only the word itself counts.
        return any('"type":"hit"' in hit and text in hit for hit in hits)

    def size(self):
        status = json.loads(self.run("status", "--json").stdout)
        files = [os.path.join(root, name) for root, _, names in os.walk(self.index) for name in names]
        return {"documents": status["documents"], "segments": status["segments"], "files": len(files),
                "bytes": sum(os.path.getsize(path) for path in files)}

    def opstamp(self):
        """Returns a number that increases with every commit."""
        [meta] = glob.glob(os.path.join(self.index, "index-*", "meta.json"))
        with open(meta, encoding="utf-8") as file:
            return json.load(file)["opstamp"]


def runs(world, total):
    for number in range(20):
        for count in range(200):
            world.append(number, count, f"an ordinary line {count} of session {number} with a few words")
    world.index_peak()
    print("run documents segments files bytes peak_kB cpu_ms")
    peaks, cpu = [], []
    for run in range(1, total + 1):
        world.append(run % 20, 1000 + run, f"{word(run)} in run {run}")
        peak, seconds = world.index_peak()
        peaks.append(peak)
        cpu.append(seconds)
        if run in (1, 10, 50, 100, 200, 500, 1000) or run == total:
            size = world.size()
            last = peaks[-50:]
            print(run, size["documents"], size["segments"], size["files"], size["bytes"],
                  max(last), round(1000 * statistics.mean(cpu[-50:]), 1), flush=True)
    assert all(world.found(word(run)) for run in range(1, total + 1, max(1, total // 20)))
    verified = world.run("verify", "--deep")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {name: int(value.split()[0]) for name, value in
                (entry.split(":") for entry in file if entry.startswith(("VmRSS", "RssAnon")))}


def lag(world, number, count, text):
    """Appends a line and returns the seconds until it is found."""
    world.append(number, count, text)
    begin = time.monotonic()
    while not world.found(text.split()[0]):
        assert time.monotonic() - begin < 60, text
        time.sleep(0.02)
    return time.monotonic() - begin


def watch(world, seconds):
    for number in range(200):
        world.append(number, 0, "an ordinary line with a few words")
    watcher = subprocess.Popen([world.program, "watch", "--quiet"], env=world.env)
    try:
        lags = [lag(world, 1, 10 + count, f"{word(100_000 + count)} line") for count in range(20)]
        print(f"one live session: {len(lags)} lines, found after {statistics.median(lags):.2f} s, "
              f"at most {max(lags):.2f} s")
        begin, cpu, commits, last = time.monotonic(), cpu_of(watcher.pid), 0, world.opstamp()
        lags, count = [], 1000
        print("second commits RSS_kB anon_kB cpu_percent")
        while time.monotonic() - begin < seconds:
            for number in range(50):
                world.append(number, count, f"{word(1_000_000 + 50 * count + number)} line")
            lags.append(lag(world, 49, count + 1, f"{word(200_000 + count)} line")) if count % 10 == 0 else time.sleep(0.2)
            stamp = world.opstamp()
            commits, last = commits + (stamp != last), stamp
            count += 2
            if count % 100 == 0:
                now = time.monotonic() - begin
                memory = memory_of(watcher.pid)
                print(round(now), commits, memory["VmRSS"], memory["RssAnon"],
                      round(100 * (cpu_of(watcher.pid) - cpu) / now, 1), flush=True)
        elapsed = time.monotonic() - begin
        print(f"50 live sessions: {commits} commits in {elapsed:.0f} s, lag {statistics.median(lags):.2f} s, "
              f"at most {max(lags):.2f} s; {100 * (cpu_of(watcher.pid) - cpu) / elapsed:.1f} % of a core; {world.size()}")
        time.sleep(5)
        begin, cpu = time.monotonic(), cpu_of(watcher.pid)
        time.sleep(30)
        print(f"at rest: {100 * (cpu_of(watcher.pid) - cpu) / (time.monotonic() - begin):.2f} % of a core")
    finally:
        watcher.send_signal(signal.SIGTERM)
        print("ended with", watcher.wait(timeout=10))
    verified = world.run("verify", "--deep")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def main():
    program, what, number = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None
    world = World(os.path.abspath(program))
    try:
        {"runs": lambda: runs(world, number or 1000), "watch": lambda: watch(world, number or 120)}[what]()
    finally:
        shutil.rmtree(world.dir)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
