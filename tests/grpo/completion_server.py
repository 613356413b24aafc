"""A completions server in this process, in the dialect that the trainer asks for.

The model behind it is transformers' own, with its own `generate`, and what it reports is computed
from that one's scores. It reads new weights from a disk, as vLLM does.
"""

import copy
import json
import threading
import warnings
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests._needs import needs

torch = needs("torch")
transformers = needs("transformers")
peft = needs("peft")


class Served:
    """The model behind the server, and what it was asked."""

    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        self.base = model
        self.calls = []
        self.deaf = False
        """True: says yes to new weights and keeps the old ones."""
        self.answer = None
        """What it answers in place of completions: (status, body)."""

    def post(self, path, body):
        self.calls.append((path, body))
        if path == "/collective_rpc" and body == {"method": "reload_weights"}:
            if not self.deaf:
                self.model = transformers.AutoModelForCausalLM.from_pretrained(self.folder).eval()
            return 200, "null"
        if path == "/reset_prefix_cache":
            return 200, ""
        if path == "/v1/load_lora_adapter":
            with warnings.catch_warnings():
                # peft asks transformers by a name that newer releases deprecate.
                warnings.simplefilter("ignore", FutureWarning)
                base = copy.deepcopy(self.base)
                self.model = peft.PeftModel.from_pretrained(base, body["lora_path"]).eval()
            return 200, f"Success: LoRA adapter '{body['lora_name']}' added successfully."
        if path == "/v1/completions":
            return self.answer or (200, json.dumps(self.complete(body)))
        return 404, "no such path"

    def complete(self, body):
        assert body["return_token_ids"] is True
        assert body["logprobs"] == 0
        torch.manual_seed(body["seed"] % 2**31)
        choices = []
        for prompt in body["prompt"]:
            made = self.model.generate(
                input_ids=torch.tensor([prompt]),
                attention_mask=torch.ones((1, len(prompt)), dtype=torch.long),
                do_sample=True,
                top_k=0,
                top_p=1.0,
                temperature=body["temperature"],
                max_new_tokens=body["max_tokens"],
                num_return_sequences=body["n"],
                eos_token_id=body["stop_token_ids"],
                pad_token_id=0,
                output_scores=True,
                return_dict_in_generate=True,
            )
            logps = torch.stack(made.scores, 1).log_softmax(-1)
            for row in range(body["n"]):
                tokens = made.sequences[row, len(prompt) :].tolist()
                ends = [i for i, token in enumerate(tokens) if token in body["stop_token_ids"]]
                tokens = tokens[: ends[0] + 1] if ends else tokens
                own = [logps[row, i, token].item() for i, token in enumerate(tokens)]
                choices.append(
                    {
                        "index": len(choices),
                        "token_ids": tokens,
                        "logprobs": {"token_logprobs": own},
                        "finish_reason": "stop" if ends else "length",
                    }
                )
        return {"object": "text_completion", "choices": choices[::-1]}


@contextmanager
def serving(model, folder):
    """Serves a model, and gives the address and what is behind it."""
    served = Served(model, folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, text = served.post(self.path, body)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", served
        finally:
            server.shutdown()
            thread.join()
