// Package model makes decoders: their programs, as forge graphs, and their
// weights.
//
// A [Model] is a [Config] and a source of weights: a Hugging Face folder or a GGUF
// file ([Open]), or numbers made from a seed ([Seeded]). [Model.Graph] makes the
// program of one place of a [shard.Layout] for one [Form] of batch:
//
//	m, err := model.Open("SmolLM2-135M")
//	g, err := m.Graph(model.Form{
//		Place: shard.Place{Layout: shard.Layout{TP: 3, PP: 2}, Rank: 4},
//		DType: tensor.BF16, Rows: 8, Tokens: 1,
//		Cache:  model.Paged{Blocks: 512, BlockSize: 16, Width: 64},
//		Logits: model.Last,
//	})
//
// # Families
//
// All families are one decoder: embedding, then layers that add attention and a
// feed-forward layer to the hidden state, each behind a norm, then a norm and the
// head. A [Config] names its family, which says what these pieces are:
//
//	tiny   learned positions, layer norms, GELU, no biases; seeded only
//	gpt2   learned positions, layer norms, GELU, biases
//	llama  rotary positions, RMS norms, gated SiLU: Llama, Mistral, Qwen2, SmolLM
//
// # What is divided
//
// [Config.Params] lists every parameter with the part that a place holds. The
// projections to queries, keys, values and feed-forward channels are divided by
// output channel, those back to the hidden state by input channel, and their sums
// over the ranks of a stage (all_reduce) are the only exchange within a layer.
// Embedding and head are divided by token. Norms and learned positions are on
// every rank.
//
// # Weights in memory
//
// A program holds its weights as constants. The model decodes only the part that
// a place needs, from the mapped file or the seed, once: all programs of a model
// share one tensor for the same part and element type. Matrices that are multiplied by
// the same value, such as those of queries, keys and values, are side by side in one
// tensor and one product. Tensors stay until
// [Model.Release] or [Model.Close]; programs that were made before keep theirs.
//
// # Provenance
//
// Every node of a graph has a position whose source is the region of the decoder
// that it belongs to, as "layer 3 attention qkv", and whose line is its number
// within it. [RegionOf] reads it back; it survives the compiler's passes.
package model

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"forgekernel/forge/tensor"
)

// Model is a decoder with weights. It is safe for concurrent use.
type Model struct {
	// Config is what the model was opened with and does not change.
	Config Config

	ref    string
	source source

	mu     sync.Mutex
	loaded map[held]*loading
}

// held identifies what is in memory: parts of parameters, side by side in one tensor.
type held struct {
	parts string
	dtype tensor.DType
}

// loading is a part that is being read or has been.
type loading struct {
	once   sync.Once
	tensor *tensor.Tensor
	err    error
}

// source is where weights come from.
type source interface {
	// read returns a place's part of a parameter.
	read(p Param, dtype tensor.DType) (*tensor.Tensor, error)
	Close() error
}

func newModel(c Config, ref string, s source) *Model {
	return &Model{Config: c, ref: ref, source: s, loaded: make(map[held]*loading)}
}

// preload loads all parameters of a place, one per core at a time. Errors come
// again when a parameter is asked for.
func (m *Model) preload(params []Param, form tensor.DType) {
	var next atomic.Int64
	var group sync.WaitGroup
	lists := loads(params)
	for range min(len(lists), runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(lists)); i = next.Add(1) - 1 {
				m.load(lists[i][0].DType(form), lists[i]...)
			}
		})
	}
	group.Wait()
}

// load returns the one tensor of parts that are side by side in it.
func (m *Model) load(dtype tensor.DType, list ...Param) (*tensor.Tensor, error) {
	key := held{dtype: dtype}
	for _, p := range list {
		key.parts += fmt.Sprintf("%s[%d:%d] ", p.Name, p.From, p.To)
	}
	l, err := m.loading(key)
	if err != nil {
		return nil, err
	}
	l.once.Do(func() { l.tensor, l.err = m.read(dtype, list) })
	return l.tensor, l.err
}

func (m *Model) read(dtype tensor.DType, list []Param) (*tensor.Tensor, error) {
	parts := make([]*tensor.Tensor, len(list))
	for i, p := range list {
		var err error
		if parts[i], err = m.source.read(p, dtype); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return sideBySide(parts)
}

func (m *Model) loading(key held) (*loading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.source == nil {
		return nil, errors.New("the model is closed")
	}
	l := m.loaded[key]
	if l == nil {
		l = new(loading)
		m.loaded[key] = l
	}
	return l, nil
}

// Release forgets the weights in memory. Graphs keep the tensors that they have;
// a later graph has its own.
func (m *Model) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.loaded)
}

// Close forgets the weights and closes their file. It must not be called while a
// graph is made.
func (m *Model) Close() error {
	m.Release()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.source == nil {
		return nil
	}
	s := m.source
	m.source = nil
	return s.Close()
}

// Ref is what another process gives to [OpenRef] to have the same model: the
// absolute path of its files, or all that a seeded model is made from.
func (m *Model) Ref() string { return m.ref }

// Path is the folder or file that the model was opened from, where its tokenizer
// is, too. A seeded model has none.
func (m *Model) Path() (path string, ok bool) { return m.ref, !strings.HasPrefix(m.ref, seededRef) }
