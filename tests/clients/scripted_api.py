"""A model API on the loopback whose answers are written down beforehand, for sessions of real clients.

`ScriptedApi` speaks Anthropic's Messages API and OpenAI's Responses API, both as streams of events. It keeps
every request. A request that offers tools is a turn of the agent and takes the next step of the script; others,
such as a client's wish for a title of the session, are answered with a word. After the last step each turn is
answered with the word "done", so that no client goes on for ever.

A step is `{"say": TEXT}` or `{"call": TOOL, "input": {…}}`. TOOL is the server's own name of its tool, such as
`remember`; the name under which the client offers it is looked up in the request, as a model would do. If it is
not offered there, the turn is answered with that, and `missing` names the tool.
"""

import http.server
import json
import threading


class ScriptedApi:
    """A server on a free port of the loopback, which runs until `close`."""

    def __init__(self):
        self.lock = threading.Lock()
        self.steps, self.turns, self.others, self.missing, self.unknown = [], [], [], [], []
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer("application/json", b"")

            def do_GET(self):
                self.answer("application/json", b'{"data": [], "models": []}')

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(*api.reply(self.path.split("?")[0], body))

            def answer(self, kind, body):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def begin(self, steps):
        """Begins a session: forgets the requests before, and answers the next turns with these steps."""
        with self.lock:
            self.steps, self.turns, self.others, self.missing = list(steps), [], [], []

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def reply(self, path, body):
        """Returns the type and the bytes of the answer to a request."""
        request = json.loads(body or b"{}")
        make = {"/v1/messages": messages_answer, "/v1/responses": responses_answer}.get(path)
        if path.endswith("/count_tokens"):
            return "application/json", b'{"input_tokens": 10}'
        with self.lock:
            if make is None:
                self.unknown.append(path)
                return "application/json", b"{}"
            if not request.get("tools"):
                self.others.append(request)
                step = {"say": "ok"}
            else:
                self.turns.append(request)
                step = self.steps.pop(0) if self.steps else {"say": "done"}
                if "call" in step:
                    offered = offered_as(request["tools"], step["call"])
                    if offered is None:
                        self.missing.append(step["call"])
                        step = {"say": f"there is no tool {step['call']}"}
                    else:
                        step = {**step, **offered}
            number = len(self.turns) + len(self.others)
        return make(request, step, number)


def offered_as(tools, name):
    """Returns under which name, and in which namespace, a client offers a tool of memdir; None if it does not."""
    for tool in tools:
        if tool.get("type") == "namespace" and "memdir" in tool["name"]:
            for inner in tool["tools"]:
                if inner.get("name") == name:
                    return {"name": name, "namespace": tool["name"]}
        elif "memdir" in tool.get("name", "") and tool["name"].endswith((f"_{name}", f"-{name}")):
            return {"name": tool["name"]}
    return None


def events(all_events):
    """Returns a stream of server-sent events."""
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in all_events)
    return "text/event-stream", text.encode()


def messages_answer(request, step, number):
    """An answer of the Messages API."""
    if "name" in step:
        block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": step["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
        reason = "tool_use"
    else:
        block, reason = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": step["say"]}
    message = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": request.get("model"),
               "content": [], "stop_reason": None, "stop_sequence": None,
               "usage": {"input_tokens": 10, "output_tokens": 1}}
    if not request.get("stream"):
        whole = {**block, "input": step["input"]} if "name" in step else {**block, "text": step["say"]}
        return "application/json", json.dumps({**message, "content": [whole], "stop_reason": reason}).encode()
    return events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
         "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ])


def responses_answer(request, step, number):
    """An answer of the Responses API."""
    if "name" in step:
        item = {"type": "function_call", "id": f"fc_{number:04}", "call_id": f"call_{number:04}",
                "name": step["name"], "arguments": json.dumps(step["input"]), "status": "completed"}
        if "namespace" in step:
            item["namespace"] = step["namespace"]
    else:
        item = {"type": "message", "id": f"msg_{number:04}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": step["say"], "annotations": []}]}
    response = {"id": f"resp_{number:04}", "object": "response", "model": request.get("model")}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
    return events([
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed",
         "response": {**response, "status": "completed", "output": [item], "usage": usage}},
    ])
