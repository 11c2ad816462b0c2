"""A fake model, so that a real Claude Code runs without network: it answers the first request with calls of
tools, and every other one with a short text.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    """Answers at `url`, and keeps the requests. `calls` are the tools to call, with their arguments."""

    def __init__(self, calls):
        self.calls = calls
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer("text/plain", "")

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(request)
                self.answer("text/event-stream", model.stream(request))

            def answer(self, kind, text):
                body = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def content(self, request):
        """Loads the tools, which Claude Code defers; then calls them; then is content."""
        known = [tool["name"] for tool in request.get("tools", [])]
        answers = sum(message["role"] == "assistant" for message in request["messages"])
        if self.calls and answers == 0 and not set(self.calls) <= set(known):
            return [use(0, "ToolSearch", {"query": "select:" + ",".join(self.calls), "max_results": len(self.calls)})]
        if answers < 2 and set(self.calls) & set(known):
            return [use(number, name, given) for number, (name, given) in enumerate(self.calls.items(), 1)]
        return [{"type": "text", "text": "All done."}]

    def stream(self, request):
        """Returns an answer as the events in which the API sends it."""
        content = self.content(request)
        reason = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{len(self.requests)}", "type": "message", "role": "assistant", "content": []}
        message |= {"model": request["model"], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [{"type": "message_start", "message": message}]
        for index, block in enumerate(content):
            is_text = block["type"] == "text"
            empty = block | ({"text": ""} if is_text else {"input": {}})
            delta = {"type": "text_delta", "text": block["text"]} if is_text else None
            delta = delta or {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage})
        events.append({"type": "message_stop"})
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    def results(self):
        """Returns the results of the calls, as Claude Code sent them: texts, and whether they are errors."""
        last = self.requests[-1]["messages"] if self.requests else []
        contents = [message["content"] for message in last if isinstance(message["content"], list)]
        blocks = [block for content in contents for block in content if block.get("type") == "tool_result"]
        return {block["tool_use_id"]: (str(block.get("content")), block.get("is_error", False)) for block in blocks}


def use(number, name, given):
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
