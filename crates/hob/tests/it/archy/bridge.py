"""A client of Archy's socket as its bridge is one: one connection for each request, no line break
after it, the answer read until the end, ten seconds of patience unless a command is waited for."""

import json
import socket
import sys
import time

PATH = sys.argv[1]


def send(action, data):
    waits = action in ("execute_and_wait", "execute_analyzed", "wait_for_prompt")
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(data.get("max_wait", 300) + 30.0 if waits else 10.0)
    client.connect(PATH)
    client.sendall(json.dumps({"action": action, "data": data}).encode())
    answer = b""
    while True:
        piece = client.recv(8192)
        if not piece:
            break
        answer += piece
    client.close()
    return json.loads(answer.decode("utf-8"))


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")
    print(what)


def main():
    # The first command makes the session, whose shell may be slow to start.
    made = send("execute_and_wait", {"command": "true", "session": "archy_session", "max_wait": 120})
    expect("a session is made", made["exit_code"], 0)
    expect("it is there", send("check_session", {})["exists"], True)

    executed = send("execute", {"command": "echo from-python", "session": "archy_session"})
    expect("a command is typed", executed["success"], True)
    until = time.monotonic() + 60
    while "\nfrom-python\n" not in send("capture", {"lines": 100, "session": "archy_session"})["output"]:
        if time.monotonic() > until:
            sys.exit("the output is never captured")
        time.sleep(0.1)
    print("its output is captured")

    waited = send(
        "execute_and_wait",
        {"command": "sh -c 'echo ünï; exit 7'", "session": "archy_session", "max_wait": 120, "interval_ms": 500},
    )
    # Archy's chat shows the output only of what succeeded.
    shown_as = (waited["success"], waited["status"], waited["exit_code"])
    expect("an exit code", shown_as, (True, "error", 7))
    expect("its output", waited["raw_output"], "ünï\n")

    batch = send("batch_execute", {"commands": ["echo one", "false", "echo three"], "explanations": ["says one"]})
    expect("a batch", [it["exit_code"] for it in batch["commands"]], [0, 1, 0])
    expect("an explanation", batch["commands"][0]["explanation"], "says one")

    analyzed = send(
        "execute_analyzed",
        {"command": "echo '{\"a\": [1, 2]}'", "session": "archy_session", "max_wait": 120, "interval_ms": 500},
    )
    fields = ("structured", "findings", "summary", "display", "display_plain", "metadata", "parsed")
    expect("what is looked at", [name for name in fields if name not in analyzed], [])
    # The chat merges these key by key.
    disks = send("execute_and_wait", {"command": "df /", "session": "archy_session", "max_wait": 120})
    expect("a format", disks["metadata"]["format_detected"], "disk_usage")
    expect("its keys", "usage_percent" in disks["structured"]["filesystems"][0], True)
    expect("facts are an object", dict(analyzed["structured"].items()), {"a": [1, 2]})
    expect("how much it matters", {it["importance"] for it in waited["findings"]}, {"Medium"})

    expect("a program", send("check_command", {"command": "sh"})["exists"], True)
    expect("a wrong action", send("dance", {})["error"], "Unknown action")
    expect("a missing command", send("execute", {})["error"], "Missing required parameter: command")
    done, shown = (lambda it: (it["success"], it["output"]))(
        send("wait_for_prompt", {"command": "", "session": "archy_session", "max_wait": 60, "interval_ms": 500})
    )
    expect("quiet", done, True)
    expect("what is shown", "from-python" in shown, True)
    expect("closed", send("close_session", {"session": "archy_session"})["success"], True)
    expect("gone", send("check_session", {})["exists"], False)
    print("all well")


main()
