package token

import (
	"encoding/json"
	"sync"
)

// Bytes is a tokenizer for models without one: token b is the byte b, and there are
// no special tokens.
var Bytes = sync.OnceValue(func() *Tokenizer {
	vocab := make(map[string]int, len(byteRunes))
	for b, r := range byteRunes {
		vocab[string(r)] = b
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}
	raw, err := json.Marshal(map[string]any{
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
		"pre_tokenizer": level, "decoder": level,
	})
	if err != nil {
		panic(err) // of constants
	}
	t, err := Parse(raw)
	if err != nil {
		panic(err)
	}
	return t
})
