package model

import (
	"errors"
	"fmt"
	"strconv"

	"forgekernel/forge/tensor"
	"forgekernel/forge/weights"
)

// ropeFactors is the tensor of a GGUF file with divisors of rotary frequencies.
const ropeFactors = "rope_freqs.weight"

// ggufArchitectures are the values of general.architecture that are supported.
var ggufArchitectures = architectures[*ggufMeta]{
	{"llama", ggufLlama, llamaGGUF}, // also Mistral and SmolLM
	{"qwen2", ggufQwen2, llamaGGUF},
	{"gpt2", ggufGPT2, gpt2GGUF},
}

func openGGUF(file *weights.File, path, ref string) (*Model, error) {
	c, names, err := parseGGUF(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return openCheckpoint(path, ref, c, &checkpoint{file, names})
}

func parseGGUF(file *weights.File) (Config, *naming, error) {
	name, ok := file.Meta()["general.architecture"].(string)
	if !ok {
		return Config{}, nil, errors.New("general.architecture is missing")
	}
	return ggufArchitectures.read(name, &ggufMeta{file: file, arch: name})
}

// ggufMeta reads the metadata of an architecture. The first error stays.
type ggufMeta struct {
	file *weights.File
	arch string
	err  error
}

func (m *ggufMeta) value(key string) any { return m.file.Meta()[m.arch+"."+key] }

// integer reads a number of any integer type; absent is its default, -1 for none.
func (m *ggufMeta) integer(key string, absent int) int {
	v := m.value(key)
	if v == nil && absent >= 0 {
		return absent
	}
	n := int64(-1)
	switch v := v.(type) {
	case uint32:
		n = int64(v)
	case int32:
		n = int64(v)
	case uint64:
		n = int64(min(v, maxContext+1))
	case int64:
		n = v
	case uint16:
		n = int64(v)
	}
	if n < 0 || n > maxContext {
		m.fail("%s.%s is %v; a number from 0 to %d is needed", m.arch, key, show(v), maxContext)
		return 0
	}
	return int(n)
}

// show writes a value that stands where another was expected.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case string, bool, float32, float64, int64, uint64, int32, uint32:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("a %T", v)
}

// number reads a float of either type; absent is its default, -1 for none.
func (m *ggufMeta) number(key string, absent float64) float64 {
	switch v := m.value(key).(type) {
	case nil:
		if absent < 0 {
			m.fail("%s.%s is missing; a float is needed", m.arch, key)
		}
		return absent
	case float32:
		return decimal(v)
	case float64:
		return v
	default:
		m.fail("%s.%s is %s; a float is needed", m.arch, key, show(v))
		return 0
	}
}

func (m *ggufMeta) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// common reads what all architectures have.
func (m *ggufMeta) common(f *family) Config {
	c := Config{
		Family: f.name, Vocab: m.vocab(), Hidden: m.integer("embedding_length", -1), Layers: m.integer("block_count", -1),
		Heads: m.integer("attention.head_count", -1), FF: m.integer("feed_forward_length", -1), Context: m.integer("context_length", -1),
	}
	c.KVHeads = m.integer("attention.head_count_kv", c.Heads)
	if c.Heads < 1 {
		m.fail("%s.attention.head_count is %d", m.arch, c.Heads)
		return c
	}
	c.HeadDim = m.integer("attention.key_length", c.Hidden/c.Heads)
	if v := m.integer("attention.value_length", c.HeadDim); v != c.HeadDim {
		m.fail("heads have %d channels for keys and %d for values; only equal numbers are supported", c.HeadDim, v)
	}
	_, err := m.file.Weight("output.weight")
	c.Tied = err != nil
	return c
}

// vocab is the number of tokens of the embedding.
func (m *ggufMeta) vocab() int {
	w, err := m.file.Weight("token_embd.weight")
	if err != nil || len(w.Shape) != 2 {
		m.fail("there is no matrix token_embd.weight")
		return 0
	}
	return w.Shape[0]
}

// gated reads what llama and qwen2 share. A window ends the context.
func (m *ggufMeta) gated() Config {
	c := m.common(llama)
	c.Eps = m.number("attention.layer_norm_rms_epsilon", -1)
	c.Context = min(c.Context, m.integer("attention.sliding_window", c.Context))
	if d := m.integer("rope.dimension_count", c.HeadDim); d != c.HeadDim {
		m.fail("%d of %d channels of a head turn; only heads that turn as a whole are supported", d, c.HeadDim)
	}
	if m.integer("expert_count", 0) > 0 {
		m.fail("it is a mixture of experts, which is not supported")
	}
	c.Rope = m.rope()
	_, err := m.file.Weight("blk.0.attn_q.bias")
	c.QKVBias = err == nil
	_, err = m.file.Weight("blk.0.attn_output.bias")
	c.OutBias = err == nil
	return c
}

// ggufLlama pairs neighbouring channels: the format stores the rows of queries and
// keys in that order.
func ggufLlama(m *ggufMeta) (Config, error) {
	c := m.gated()
	c.Rope.Interleaved = true
	return c, m.err
}

func ggufQwen2(m *ggufMeta) (Config, error) { return m.gated(), m.err }

func ggufGPT2(m *ggufMeta) (Config, error) {
	c := m.common(gpt2)
	c.Eps = m.number("attention.layer_norm_epsilon", -1)
	return c, m.err
}

func (m *ggufMeta) rope() *Rope {
	r := &Rope{Base: m.number("rope.freq_base", 10000)}
	factors, err := m.factors()
	if err != nil {
		m.fail("%v", err)
	}
	kind, ok := m.value("rope.scaling.type").(string)
	if !ok && m.value("rope.scaling.type") != nil {
		m.fail("%s.rope.scaling.type is %s; a text is needed", m.arch, show(m.value("rope.scaling.type")))
	}
	r.Factor = m.number("rope.scaling.factor", 0)
	if m.value("rope.scale_linear") != nil {
		m.fail("%s.rope.scale_linear is of an older form that is not supported", m.arch)
	}
	switch {
	case factors != nil && (kind == "" || kind == "none"):
		r.Scaling, r.Factors, r.Factor = Factors, factors, 0
	case factors != nil:
		m.fail("it has both %s and rope scaling %q", ropeFactors, kind)
	case kind == "" || kind == "none":
		r.Factor = 0
	case kind == "linear":
		r.Scaling = Linear
	case kind == "yarn":
		r.Scaling, r.Original = YaRN, m.integer("rope.scaling.original_context_length", -1)
		r.BetaFast, r.BetaSlow = m.number("rope.scaling.yarn_beta_fast", 32), m.number("rope.scaling.yarn_beta_slow", 1)
		r.Attention = YaRNAttention(r.Factor) * m.number("rope.scaling.attn_factor", 1)
	default:
		m.fail("rope scaling %q is not supported; these are: none, linear, yarn", kind)
	}
	return r
}

// factors are the divisors of the frequencies, nil when there are none.
func (m *ggufMeta) factors() ([]float64, error) {
	w, err := m.file.Weight(ropeFactors)
	if err != nil {
		return nil, nil // absence is usual
	}
	if len(w.Shape) != 1 || !w.DType().IsFloat() {
		return nil, errors.New(ropeFactors + " is not a list of floats")
	}
	t, err := w.Load(tensor.F64)
	if err != nil {
		return nil, err
	}
	return t.Float64(), nil
}

// decimal is the shortest decimal that a float32 was written from: 1e-5, not
// 9.99999974737875e-06.
func decimal(v float32) float64 {
	d, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	if err != nil {
		return float64(v)
	}
	return d
}
