"""Trains the tiny tokenizers of this folder and writes what they give.

    pip install -r requirements.txt && python tiny.py

One file NAME.json per family, as the library writes it, and goldens.json: for each
the texts below as ids (special tokens found; in the template; nothing special) and
the ids' text, without and with special tokens.
"""
import json
import os
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "The quick brown fox jumps over the lazy dog. It's what we're told; they'll say I'd better go, and you've seen 'em.",
    "for i in range(10):\n    if x[i] == 0:\n        return {'key': value}\n\tprint(\"hello, world\")\n\n\n",
    "int main(void) { return 0; } // 12345 67 8 3.14159 1,000,000 0xFF",
    "naïve café déjà vu über straße Ångström, e\u0301 a\u0308 o\u0302 n\u0303, ﬁne ½ Ⅷ ²",
    "你好，世界。今天天气很好。 こんにちは世界 안녕하세요 세계",
    "مرحبا بالعالم كيف حالك ١٢٣ שלום עולם привет мир γειά σου κόσμε",
    "emoji 😀 👩‍👩‍👧 👍🏽 🇩🇪 ❤️ done  two   three    four     spaces\u00a0nbsp\u3000wide\u2028line",
] * 4

TEXTS = [
    "", " ", "  ", "   ", "a", " a", "  a", "a ", "a  ", "   a   b   ", "\n", "\n\n", " \n ", "a\n\n  b\t\tc \r\n d", "\t", "\r\n\r\nx", "  \n\n  x",
    "Hello, world!", "The quick brown fox jumps over the lazy dog.", "It's we're I'LL they'Ve 'S 's'S x'd don't 'tis rock'n'roll ''", "'\u017f '\u017ft",
    "for i in range(10):\n    if x[i] == 0:\n        return {'key': \"v\"}\n", "a_b-c+d=e;f//g/*h*/#i@j$k%l^m&n|o~p`q\\r",
    "1", "12", "123", "1234", "12345678901234567890", "3.14159 1,000,000 0xFF 1e-9", "x1y22z333", "١٢٣٤ ½ Ⅷ ² ① 𝟘𝟙 ൦",
    "naïve café über straße ÅNGSTRÖM İI", "e\u0301a\u0308 \u0301x o\u0302\u0323 ﬁ ﬃ Å Ω K", "\u0344 \uac00\u11a8 \u1100\u1161\u11a8 กำ",
    "你好，世界。今天", "こんにちは 世界 カタカナ ｶﾀｶﾅ", "안녕하세요", "مرحبا بالعالم ‏x‎", "שָׁלוֹם", "привет, Мир", "γειά σου Κόσμε ς",
    "😀", "👩‍👩‍👧👍🏽🇩🇪❤️", "a😀b 😀 c", "\U00010348𐍈 \U0010ffff \U000e0001", "\ufffd \ufeff \u200b\u200d\u00ad",
    "\x00", "\x00\x01\x02\x03\x1b[0m\x7f", "\u0080\u0085\u009f", "a\u00a0b\u3000c\u2028d\u2029e\u1680f\u202fg\u205fh\u180ei", "\x0b\x0c\x1c\x1d\x1e\x1f", "a\x85\x85b",
    "▁", "▁a ▁ b▁", "Ġ Ċ ĉ", "<0x0A> <0x41>", "<unk>", "###", "\u0e33\u0e4d",
    "<s>", "</s>", "<s>Hi</s>", "<s> Hi </s> ", "a<s>b", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|im_start|><|im_start|>", "<|im_end", "<|im_end|>|>",
    "x [M] y", "x   [M]   y", "[M]", " [M][M] ", "a\n[M]\nb", "wordy word", "word", "sword word words word.", "word_ word1 wordé word\u0301", "éword \u0301word -word-", "caf\u1ebfs cafe\u0302\u0301s caf\u00ea\u0301", "[M]word[M] word",
    "a b  c   d    e     f      g       h", "ab" * 40, "the " * 30, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " " * 33 + "x", "\n" * 9, "=" * 21,
]

GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ADDED = [AddedToken("[M]", special=True, lstrip=True, rstrip=True, normalized=False), AddedToken("word", single_word=True, normalized=True),
         AddedToken("caf\u1ebf", normalized=True), AddedToken("###", normalized=False)]
SPECIAL = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]


def split(expr, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(expr), behavior, invert)


def byte_level(regex=True, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def train(model, pre=None, normalizer=None, decoder=None, size=420, alphabet=(), template=None, fallback=False):
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, initial_alphabet=list(alphabet), show_progress=False)
    t.train_from_iterator(CORPUS, trainer)
    if fallback:
        t = with_bytes(t)
    t.add_tokens(ADDED)
    t.add_special_tokens([a for a in ADDED if a.special])
    if decoder:
        t.decoder = decoder
    if template:
        ids = [(s, t.token_to_id(s)) for s in ("<s>", "</s>") if s in template]
        t.post_processor = processors.TemplateProcessing(single=template, special_tokens=ids)
    return t


def with_bytes(t):
    """Adds the tokens of all bytes and turns the fallback to them on."""
    d = json.loads(t.to_str())
    vocab = d["model"]["vocab"]
    for c in range(256):
        vocab[f"<0x{c:02X}>"] = len(vocab)
    d["model"].update(byte_fallback=True)
    return Tokenizer.from_str(json.dumps(d))


def families():
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    level = decoders.ByteLevel()
    yield "gpt2", train(models.BPE(), byte_level(), None, level, alphabet=alphabet)
    yield "prefix", train(models.BPE(), byte_level(prefix=True), normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), level, alphabet=alphabet)
    yield "llama3", train(models.BPE(ignore_merges=True), pre_tokenizers.Sequence([split(GPT4), byte_level(False)]), None, level, alphabet=alphabet,
                          template="<s> $A")
    yield "qwen2", train(models.BPE(), pre_tokenizers.Sequence([split(GPT4.replace("{1,3}", "")), byte_level(False)]), normalizers.NFC(), level, alphabet=alphabet)
    yield "smollm", train(models.BPE(), pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]), None, level, alphabet=alphabet,
                          template="<s> $A </s>")
    yield "digits", train(models.BPE(), pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), split(r"[aeiou]", "merged_with_previous"),
                          split("-", "removed"), split(r"\p{Lu}", "merged_with_next"), split(r"\p{L}|\p{M}", "contiguous"), split(r"[^\s]+", "isolated", True), byte_level(False)]),
                          normalizers.NFD(), level, alphabet=alphabet)
    sp = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    yield "llama2", train(models.BPE(unk_token="<unk>", fuse_unk=True), None, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), sp,
                          size=320, template="<s> $A", fallback=True)
    yield "mistral", train(models.BPE(unk_token="<unk>", fuse_unk=True), pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False), None, sp,
                           size=320, fallback=True)
    yield "metaspace", train(models.BPE(unk_token="<unk>", fuse_unk=True), pre_tokenizers.Metaspace("▁"), normalizers.Strip(), decoders.Metaspace("▁"), size=300)
    yield "unfused", train(models.BPE(unk_token="<unk>"), pre_tokenizers.Metaspace("▁", prepend_scheme="never"), None, None, size=300)


def cases(t):
    for text in TEXTS:
        t.encode_special_tokens = False
        ids = t.encode(text, add_special_tokens=False).ids
        template = t.encode(text).ids
        t.encode_special_tokens = True
        plain = t.encode(text, add_special_tokens=False).ids
        yield [text, ids, template, plain, t.decode(template), t.decode(template, skip_special_tokens=False)]


def main():
    here = os.path.dirname(os.path.abspath(__file__)) if len(sys.argv) < 2 else sys.argv[1]
    goldens = {}
    for name, t in families():
        path = os.path.join(here, name + ".json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(json.loads(t.to_str()), f, ensure_ascii=False, separators=(",", ":"))
            f.write("\n")
        goldens[name] = list(cases(Tokenizer.from_file(path)))
    with open(os.path.join(here, "goldens.json"), "w") as f:
        f.write("{\n" + ",\n".join(json.dumps(n) + ": [\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cs) + "\n]" for n, cs in goldens.items()) + "\n}\n")


main()
