package forge

import (
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sync"

	"forgekernel/forge/importer"
	"forgekernel/forge/rows"
	"forgekernel/forge/tensor"
)

// bucket is a length of an open dimension that others up to it are brought to. A nil
// bucket leaves everything as it is.
type bucket struct {
	dim     string
	rows    int            // given
	size    int            // of the program
	inputs  map[string]int // where the dimension stands in inputs
	outputs []int          // and in outputs; -1 for none
}

// maxProofs bounds the decisions that are kept.
const maxProofs = 256

// buckets are the decisions of a model.
type buckets struct {
	mu     sync.Mutex
	proofs map[string]*proof
	order  []string
}

// proof is what was found out about a bucket for the shapes of a call.
type proof struct {
	outputs []int
	text    string // for a person
	apart   bool
}

// told lists the decisions in the order in which they were made.
func (b *buckets) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, key := range b.order {
		if text := b.proofs[key].text; !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func (b *buckets) get(key string) *proof {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.proofs[key]
}

func (b *buckets) keep(key string, p *proof) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proofs == nil {
		b.proofs = make(map[string]*proof)
	}
	if b.proofs[key] == nil {
		b.order = append(b.order, key)
	}
	b.proofs[key] = p
	if len(b.order) > maxProofs {
		delete(b.proofs, b.order[0])
		b.order = b.order[1:]
	}
}

// bounded finds the dimension of the inputs that has an upper bound, the first if
// there are several, and its length in values; nil when there is none, or when the
// length is that of a bucket.
func (f *importedFile) bounded(values map[string]*Tensor) *bucket {
	b := &bucket{inputs: make(map[string]int)}
	most := 0
	for _, in := range f.Inputs() {
		for i, d := range in.Dims {
			limit := d.Max
			if n := f.most[d.Symbol]; n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if d.Fixed || d.Symbol == "" || limit == 0 || b.dim != "" && d.Symbol != b.dim {
				continue
			}
			if _, twice := b.inputs[in.Name]; twice || values[in.Name] == nil {
				return nil
			}
			b.dim, most = d.Symbol, limit
			b.inputs[in.Name], b.rows = i, values[in.Name].Dim(i)
		}
	}
	if b.rows < 1 || b.rows > most {
		return nil
	}
	b.size = min(most, 1<<bits.Len(uint(b.rows-1)))
	if b.size == b.rows {
		return nil
	}
	return b
}

// bucketFor is the bucket of a call, when it is proved that it gives the same results.
func (f *importedFile) bucketFor(ctx context.Context, values map[string]*Tensor) *bucket {
	b := f.bounded(values)
	if b == nil {
		return nil
	}
	key := f.bucketKey(b, values)
	p := f.buckets.get(key)
	if p == nil {
		if p = f.prove(ctx, b, values); ctx.Err() != nil {
			return nil
		}
		f.buckets.keep(f.bucketKey(b, values), p) // the proof may have told of acting inputs
	}
	if !p.apart {
		return nil
	}
	b.outputs = p.outputs
	return b
}

func (f *importedFile) bucketKey(b *bucket, values map[string]*Tensor) string {
	key := fmt.Sprint(b.dim, b.rows, b.size)
	for _, name := range sortedKeys(values) {
		key += fmt.Sprint(" ", name, values[name].Shape())
	}
	return key + fmt.Sprint(digests(f.actingInputs(), Binding{Values: values}))
}

// prove imports the model for the given length and for that of the bucket, and compares
// the two programs.
func (f *importedFile) prove(ctx context.Context, b *bucket, values map[string]*Tensor) *proof {
	outputs, err := f.apart(ctx, b, values)
	if err != nil {
		return &proof{text: fmt.Sprintf("%s = %d has a program of its own: %v", b.dim, b.rows, err)}
	}
	return &proof{outputs, fmt.Sprintf("%s = %d runs in the program for %d: results along it do not depend on one another", b.dim, b.rows, b.size), true}
}

func (f *importedFile) apart(ctx context.Context, b *bucket, values map[string]*Tensor) ([]int, error) {
	filled, err := b.filled(values)
	if err != nil {
		return nil, err
	}
	small, err := f.Graph(ctx, Binding{Values: values})
	if err != nil {
		return nil, err
	}
	large, err := f.Graph(ctx, Binding{Values: filled})
	if err != nil {
		return nil, err
	}
	f.learn(small.Bound, nil)
	f.learn(large.Bound, nil)
	if !slices.Equal(small.Inputs, large.Inputs) || !slices.EqualFunc(small.Bound, large.Bound, sameBound) {
		return nil, fmt.Errorf("other inputs are a part of the program for %d", b.size)
	}
	dims := make([]int, len(small.Inputs))
	for i, name := range small.Inputs {
		dims[i] = -1
		if dim, ok := b.inputs[name]; ok {
			dims[i] = dim
		}
	}
	return rows.Apart(small.Graph, large.Graph, b.rows, b.size, dims)
}

func sameBound(a, b importer.Bound) bool {
	return a.Input == b.Input && tensor.Identical(a.Value, b.Value)
}

// filled repeats rows of the inputs until they have the length of the bucket.
func (b *bucket) filled(values map[string]*Tensor) (map[string]*Tensor, error) {
	if b == nil {
		return values, nil
	}
	values = maps.Clone(values)
	for name, dim := range b.inputs {
		t, err := rows.Resize(values[name], dim, b.size)
		if err != nil {
			return nil, err
		}
		values[name] = t
	}
	return values, nil
}

// cut takes the rows of the results that were asked for.
func (b *bucket) cut(outs []*Tensor) ([]*Tensor, error) {
	if b == nil {
		return outs, nil
	}
	for i, dim := range b.outputs {
		if dim < 0 {
			continue
		}
		var err error
		if outs[i], err = rows.Resize(outs[i], dim, b.rows); err != nil {
			return nil, err
		}
	}
	return outs, nil
}
