"""Real clients against unspool; scripts/clients fetches them and calls this.

Arguments: the folder with the clients, the program. Everything happens in a scratch home with the sample sessions.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model import Model

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

REPOSITORY = Path(__file__).resolve().parents[2]
# A call of each tool that finds something in the sample sessions.
CALLS = {
    "search_history": {"query": "retry after"},
    "read_conversation": {"id": "05000001"},
    "outline_conversation": {"id": "05000001"},
    "file_history": {"path": "token.rs"},
    "recover_file": {"path": "token.rs"},
    "list_sessions": {},
}
MOST_BYTES_OF_TOOLS = 8 * 1024
MOST_CHARACTERS = 6_000
LOAD = 500


class Checks:
    """Runs checks, prints their results and remembers failures."""

    def __init__(self):
        self.failed = 0

    def check(self, name, passed, detail=""):
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'}  {name}" + (f": {detail}" if detail else ""), flush=True)
        return passed


class Place:
    """A scratch home with an index, and the programs in it."""

    def __init__(self, folder, clients, program):
        self.home = folder / "home"
        shutil.copytree(REPOSITORY / "fixtures/home/.claude", self.home / ".claude")
        for client in [".codex", ".cursor"]:
            (self.home / client).mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "unspool").symlink_to(program)
        node = clients / "node_modules/node/bin"
        self.tools = clients / "node_modules/.bin"
        # Claude Code's command is looked for in PATH, in a folder that only its owner can write to.
        (self.bin / "claude").symlink_to((self.tools / "claude").resolve())
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{self.bin}:{node}:/usr/local/bin:/usr/bin:/bin",
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def run(self, *words, seconds=120):
        """Runs a command to its end. Returns its exit code and all its output."""
        try:
            done = subprocess.run(
                [str(word) for word in words],
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return 124, f"no answer within {seconds} s"
        return done.returncode, done.stdout + done.stderr

    def unspool(self, *words):
        return self.run(self.bin / "unspool", *words)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def line_with(text, word):
    return next((line.strip() for line in text.splitlines() if word in line), "")


def plugin(checks, place):
    code, folder = place.unspool("plugin", "path")
    checks.check("unspool plugin path", code == 0, folder.strip())
    claude = place.bin / "claude"
    code, text = place.run(claude, "plugin", "validate", folder.strip(), "--strict")
    checks.check("claude plugin validate --strict", code == 0, last_line(text))
    place.unspool("plugin", "install")
    code, text = place.run(claude, "plugin", "list")
    checks.check("claude plugin list: loaded", code == 0 and "unspool@skills-dir" in text and "loaded" in text)
    code, text = place.run(claude, "mcp", "list")
    found = line_with(text, "plugin:unspool:unspool")
    checks.check("claude mcp list: the server of the plugin is connected", "Connected" in found, found or last_line(text))
    code, text = place.unspool("plugin", "uninstall")
    checks.check("unspool plugin uninstall", code == 0 and not (place.home / ".claude/skills/unspool").exists(), last_line(text))


def claude_code(checks, place):
    claude = place.bin / "claude"
    code, text = place.unspool("mcp", "install", "claude")
    checks.check("unspool mcp install claude, with Claude Code's own command", code == 0, last_line(text))
    code, text = place.unspool("mcp", "install", "claude")
    checks.check("a second time changes nothing", "already in" in text, last_line(text))
    code, text = place.run(claude, "mcp", "list")
    found = line_with(text, "unspool:")
    checks.check("claude mcp list: connected", "Connected" in found, found or last_line(text))
    claude_asks(checks, place)
    place.unspool("mcp", "uninstall", "claude")
    code, text = place.run(claude, "mcp", "get", "unspool")
    checks.check("unspool mcp uninstall claude: gone", code != 0, last_line(text))


def claude_asks(checks, place):
    """Makes Claude Code call each tool and resume a session. A fake model answers it."""
    model = Model({f"mcp__unspool__{name}": arguments for name, arguments in CALLS.items()})
    place.environment |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    words = [place.bin / "claude", "--allowedTools", "mcp__unspool__*", "-p"]
    code, text = place.run(*words, "How did we fix the retry?")
    results = model.results()
    for number, name in enumerate(CALLS, 1):
        answer, is_error = results.get(f"toolu_{number}", (last_line(text), True))
        is_right = code == 0 and not is_error and "quoted from old transcripts" in answer
        checks.check(f"claude -p calls {name}", is_right, "" if is_right else answer[:200])
    model = Model({})
    place.environment["ANTHROPIC_BASE_URL"] = model.url
    id = next((word for word in results.get("toolu_1", ("",))[0].split() if word.startswith("05000001-")), "")
    code, text = place.run(place.bin / "claude", "--resume", id, "-p", "And then?")
    is_resumed = any("Retry-After: 17" in json.dumps(request) for request in model.requests)
    checks.check("claude --resume continues a session that was found", code == 0 and is_resumed, last_line(text))
    for name in ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"]:
        del place.environment[name]


def codex(checks, place):
    file = place.home / ".codex/config.toml"
    before = '# mine\nmodel = "o3"\n\n[mcp_servers.other]\ncommand = "other"\n'
    file.write_text(before)
    place.unspool("mcp", "install", "codex")
    code, text = place.run(place.tools / "codex", "mcp", "get", "unspool", "--json")
    try:
        # Warnings may come before it.
        transport = json.JSONDecoder().raw_decode(text[text.index("{\n") :])[0]["transport"]
        is_right = transport["command"].endswith("/unspool") and transport["args"] == ["mcp"]
    except (ValueError, KeyError, TypeError):
        is_right = False
    checks.check("codex mcp get: reads our entry", code == 0 and is_right, "" if is_right else last_line(text))
    place.unspool("mcp", "uninstall", "codex")
    checks.check("unspool mcp uninstall codex: every byte is back", file.read_text() == before)
    # Codex connects to a server only when a conversation starts.
    print("--    codex does not connect to servers without a model")


def inspector(checks, place):
    def inspect(*words):
        return place.run(place.tools / "mcp-inspector", "--cli", *words, "--", place.bin / "unspool", "mcp")

    for era in ["legacy", "auto", "modern"]:
        code, text = inspect("--method", "tools/list", "--strict", "--protocol-era", era)
        names = [name for name in CALLS if f'"{name}"' in text]
        checks.check(f"inspector tools/list --strict, {era} protocol", code == 0 and len(names) == len(CALLS), last_line(text) if code else "")
    for name, arguments in CALLS.items():
        code, text = inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        is_error = '"isError": true' in text
        checks.check(f"inspector calls {name}", code == 0 and not is_error, last_line(text) if code or is_error else "")
    code, text = inspect(
        "--method", "tools/call", "--tool-name", "search_history", "--tool-args-json", json.dumps(CALLS["search_history"]),
        "--load", "--load-requests", str(LOAD), "--format", "json",
    )
    try:
        result = json.loads(text[text.index("{") : text.rindex("}") + 1])["result"]
        latency = result["latencyMs"]
        summary = f"{result['ok']} answered, p50 {latency['p50']} ms, p99 {latency['p99']} ms"
        is_right = code == 0 and result["ok"] == LOAD and result["errorRate"] == 0
    except (ValueError, KeyError):
        summary, is_right = last_line(text), False
    checks.check(f"inspector load test, {LOAD} calls, 10 at a time", is_right, summary)


async def python_client(checks, place):
    parameters = StdioServerParameters(command=str(place.bin / "unspool"), args=["mcp"], env=place.environment)
    started = time.monotonic()
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        spent = time.monotonic() - started
        checks.check("python client connects", hello.server_info.name == "unspool", f"{hello.protocol_version}, {spent * 1000:.0f} ms")
        listed = await session.list_tools()
        size = len(listed.model_dump_json(by_alias=True, exclude_none=True))
        names = sorted(tool.name for tool in listed.tools)
        checks.check("python client lists the tools", names == sorted(CALLS), f"{len(names)} tools, {size} bytes")
        checks.check("the list of tools is short", size <= MOST_BYTES_OF_TOOLS, f"{size} of {MOST_BYTES_OF_TOOLS} bytes")
        for name, arguments in CALLS.items():
            answer = await session.call_tool(name, arguments)
            text = "".join(part.text for part in answer.content if part.type == "text")
            is_right = not answer.is_error and 0 < len(text) <= MOST_CHARACTERS
            checks.check(f"python client calls {name}", is_right, f"{len(text)} characters")
        for name, arguments in [("search_history", {"query": 7}), ("read_conversation", {}), ("file_history", {"paht": "x"})]:
            answer = await session.call_tool(name, arguments)
            text = "".join(part.text for part in answer.content if part.type == "text")
            checks.check(f"wrong arguments for {name} are explained", bool(answer.is_error and text), text[:100].replace("\n", " "))


def main():
    clients, program = Path(sys.argv[1]), Path(sys.argv[2])
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="unspool-clients-") as folder:
        place = Place(Path(folder), clients, program)
        code, text = place.unspool("index")
        checks.check("unspool index", code in (0, 3), last_line(text))
        plugin(checks, place)
        claude_code(checks, place)
        codex(checks, place)
        inspector(checks, place)
        try:
            asyncio.run(asyncio.wait_for(python_client(checks, place), 120))
        except Exception as error:  # A client that fails in any way is a failed check.
            checks.check("python client", False, f"{type(error).__name__}: {error}"[:200])
    print(f"\n{checks.failed} failed" if checks.failed else "\nall passed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
