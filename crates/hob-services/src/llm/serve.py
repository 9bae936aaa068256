"""llama.cpp's OpenAI-compatible server on loopback, with one model, in the foreground.

Usage: serve.py PORT MODEL NAME. Prints "ready" once it listens, and leaves on SIGTERM.
"""

import os
import signal
import sys

# The server's own threads keep running while the interpreter would wait for them.
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
signal.signal(signal.SIGINT, lambda *_: os._exit(0))

import xllamacpp


def main():
    port, model, name = sys.argv[1:4]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    # No page of the web may ask it, and it shows none of its own.
    params.cors_origins = "http://127.0.0.1"
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = False
    params.n_ctx = 4096
    params.n_parallel = 1
    # Of former prompts, beside the context itself.
    params.cache_ram_mib = 256
    params.cpuparams.n_threads = len(os.sched_getaffinity(0))
    params.use_jinja = True
    params.offline = True
    # The first question warms it up as well, and sooner.
    params.warmup = False
    # Bound to a name: the server ends with it.
    server = xllamacpp.Server(params)
    print("ready at", server.listening_address, flush=True)
    while True:
        signal.pause()


main()
