"""Reads the text of every transcript, in the way a simple Python importer for SQLite would.

bench.py feeds the text to FTS5. It also compares the number of characters read here and by unspool, to show that both
index the same text.
"""

import json
import re
from pathlib import Path

ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
LINE_NUMBER = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{1024,}")

# Tools that number the lines of files.
NUMBERING = {"Read", "Edit", "MultiEdit", "Write", "NotebookRead", "NotebookEdit", "edited_text_file", "file"}
# Attachments that only inform the model about its environment.
SILENT = {
    "total_tokens_reminder", "task_reminder", "todo_reminder", "deferred_tools_delta", "skill_listing",
    "mcp_instructions_delta", "agent_listing_delta", "command_permissions", "date_change", "auto_mode",
    "companion_intro", "hook_cancelled", "ultrathink_effort",
}
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName", "summary": "summary"}


def documents(root):
    """Yields the session, kind and text of each document below a root."""
    projects = Path(root) / "projects"
    for path in sorted((projects if projects.is_dir() else Path(root)).rglob("*")):
        if "tool-results" in path.parts and path.is_file():
            yield path.parent.parent.name, "output", clean(path.read_text("utf-8", "replace"))
        elif path.suffix == ".jsonl" and path.name != "journal.jsonl" and "memory" not in path.parts:
            yield from transcript(path)
    history = Path(root) / "history.jsonl"
    if history.is_file():
        for entry in lines(history):
            yield entry.get("sessionId"), "history", entry.get("display") or ""


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def transcript(path):
    tools = {}
    for entry in lines(path):
        session = entry.get("sessionId") or path.stem
        for kind, text in texts(entry, tools):
            # JSON can contain half of a surrogate pair; SQLite cannot.
            yield session, kind, text.encode("utf-8", "replace").decode() if not text.isascii() else text


def texts(entry, tools):
    kind = entry.get("type")
    if kind in ("user", "assistant"):
        yield from message(entry.get("message") or {}, tools)
    elif kind == "progress":
        data = entry.get("data") or {}
        if data.get("type") == "agent_progress" and isinstance(data.get("message"), dict):
            yield from texts(data["message"], tools)
    elif kind == "attachment":
        yield from attachment(entry.get("attachment") or {})
    elif kind in ("system", "queue-operation"):
        if entry.get("content"):
            yield "queued" if kind == "queue-operation" else "notice", clean(words(entry["content"]))
    elif kind in TITLES:
        yield "title", entry.get(TITLES[kind]) or ""
    elif kind == "file-history-snapshot":
        yield "snapshot", "\n".join((entry.get("snapshot") or {}).get("trackedFileBackups") or {})
    elif kind == "pr-link":
        yield "link", f"pull request #{entry.get('prNumber')} {entry.get('prRepository')} {entry.get('prUrl')}"


def message(message, tools):
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content or []:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text":
            yield kind, clean(block.get("text") or "")
        elif kind == "thinking":
            yield kind, block.get("thinking") or ""
        elif kind == "tool_use":
            tools[block.get("id")] = block.get("name")
            yield kind, fold("\n".join(strings(block.get("input")))) or block.get("name") or ""
        elif kind == "tool_result":
            yield kind, result(tools.get(block.get("tool_use_id")), words(block.get("content")))


def attachment(found):
    kind = found.get("type")
    if kind == "queued_command":
        yield "queued", clean(words(found.get("prompt")))
    elif kind not in SILENT:
        kept = {key: value for key, value in found.items() if key not in ("type", "toolUseID", "hookEvent")}
        yield "attachment", result(kind, "\n".join(strings(kept)))


def result(tool, text):
    if "<system-reminder>" in text:
        text = REMINDER.sub("", text) or text
    text = clean(text)
    return LINE_NUMBER.sub("", text) if tool in NUMBERING else text


def clean(text):
    return fold(ESCAPE.sub("", text) if "\x1b" in text else text)


def fold(text):
    # The expression is slow, so only texts with a word that long are searched.
    if len(text) <= 1024 or max(map(len, text.split()), default=0) <= 1024:
        return text
    return BASE64.sub(" ", text)


def words(value):
    """Returns the text of a content, which is a string or a list of blocks."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part.get("text") or "" for part in value if isinstance(part, dict))
    return ""


def strings(value):
    """Yields every string in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
