#!/usr/bin/env python3
"""Prints the answers of a session while they are written: python3 examples/follow.py chat:main"""
import json, os, pathlib, socket, sys
def place(xdg, default, name):  # one directory with HOB_HOME, the XDG ones without
    root = os.environ.get("HOB_HOME") or os.path.join(os.environ.get(xdg) or os.path.expanduser(default), "hob")
    return pathlib.Path(root, name).read_text()
(bus := socket.socket(socket.AF_UNIX)).connect(json.loads(place("XDG_STATE_HOME", "~/.local/state", "run/daemon.json"))["socket"])
lines, session = bus.makefile("rw", encoding="utf-8", newline="\n"), sys.argv[1]
blocks, last, settled, waiting, shown = [], 0, 0, [], {}
def ask(method, params):  # events before the answer wait
    print(json.dumps({"type": "req", "id": method, "method": method, "params": params}), file=lines, flush=True)
    while (frame := json.loads(lines.readline()))["type"] != "res": waiting.append(frame)
    return frame["payload"] if frame["ok"] else sys.exit(frame["error"]["message"])
def read():  # everything that is not final, page by page
    global last, settled
    blocks[:], page = [b for b in blocks if b.get("seq", settled + 1) <= settled], {"after": settled}
    while "after" in page:
        page = ask("session.blocks", {"sessionKey": session, "after": page["after"]})
        blocks.extend(page["blocks"])
    last, settled = page["position"], page["settled"]
def apply(id, op, position, offset, text, revision, before=None, details={}, **rest):
    global last
    if position != last + 1: return position > last and read()  # known, or something was lost
    last, at = position, next((i for i, b in enumerate(blocks) if b["id"] == id), len(blocks))
    if op == "drop": del blocks[at:at + 1]
    elif op == "open" and at == len(blocks):  # at the end, unless it says before which one
        at = next((i for i, b in enumerate(blocks) if b["id"] == before), at)
        blocks.insert(at, {"id": id, "text": text, "revision": revision, **rest, **details})
    else:  # a higher revision has the whole text, the same one has more of it
        former = blocks[at]["text"] if op != "open" and revision == blocks[at]["revision"] else ""
        blocks[at] |= {"text": former + text, "revision": revision, **details}
ask("gateway.auth", {"token": place("XDG_DATA_HOME", "~/.local/share", "owner.token").strip(), "protocol": 1})
ask("gateway.subscribe", {"events": ["session.block", "run.completed"], "sessionKey": session})
read()
while True:
    for new in (b for b in blocks if b["kind"] == "text" and b.get("role") == "assistant"):
        print(new["text"][len(shown.get(new["id"], "")):], end="", flush=True)
        shown[new["id"]] = new["text"]
    frame = waiting.pop(0) if waiting else json.loads(lines.readline() or sys.exit())
    apply(**frame["payload"]) if frame["event"] == "session.block" else read()  # the end of a run
