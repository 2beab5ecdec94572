package model

import (
	"errors"
	"fmt"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

// Form is one program of a model: for a place, an element type and a shape of
// batch.
type Form struct {
	Place shard.Place
	// DType is the element type of matrices, tables and cache, F32 or BF16. The
	// rest is computed in F32.
	DType tensor.DType
	// Rows is the number of sequences, Tokens the most new tokens of each.
	Rows, Tokens int
	Cache        Cache
	Logits       Logits
	// Leads adds, to logits of the last tokens, the two largest of each row and their
	// tokens, so that all others can stay where they are; and to programs of one token the
	// largest as tokens of the next run.
	Leads bool
}

// Cache is how a program finds the keys and values of earlier tokens: [Paged] or
// [Contiguous].
type Cache interface {
	// pool is the shape of keys or of values of one layer.
	pool(rows, heads, dim int) []int
	// capacity is the number of positions of one row.
	capacity() int
	// check says whether it is a cache for sequences of up to context tokens, and
	// none in which a longer one would fit.
	check(context int) error
}

// Paged is a pool of blocks that all rows share. A row's table has the numbers of
// its blocks, in order.
type Paged struct {
	Blocks    int // in the pool
	BlockSize int // positions of a block
	Width     int // blocks of a row's table
}

// Contiguous gives each row a cache of its own.
type Contiguous struct {
	Capacity int // positions
}

func (c Paged) pool(_, heads, dim int) []int { return []int{c.Blocks, heads, c.BlockSize, dim} }
func (c Paged) capacity() int                { return c.Width * c.BlockSize }

func (c Paged) check(context int) error {
	if c.Blocks < 1 || c.BlockSize < 1 || c.Width < 1 || c.Width > tensor.MaxElements/c.BlockSize {
		return fmt.Errorf("%d blocks of %d positions, %d to a row, are no cache", c.Blocks, c.BlockSize, c.Width)
	}
	if c.capacity()-c.BlockSize >= context {
		return fmt.Errorf("%d blocks of %d positions to a row are more than the context of %d needs", c.Width, c.BlockSize, context)
	}
	return nil
}

func (c Contiguous) pool(rows, heads, dim int) []int { return []int{rows, heads, c.Capacity, dim} }
func (c Contiguous) capacity() int                   { return c.Capacity }

func (c Contiguous) check(context int) error {
	if c.Capacity < 1 {
		return fmt.Errorf("a capacity of %d positions is not a cache", c.Capacity)
	}
	if c.Capacity > context {
		return fmt.Errorf("a capacity of %d positions is more than the context of %d", c.Capacity, context)
	}
	return nil
}

// Logits says for which tokens a program computes logits.
type Logits int

// Choices of logits.
const (
	None Logits = iota // only the cache is filled
	Last               // of one token of each row, [B,V]
	All                // of every token, [B,T,V]
)

// String is "none", "last" or "all".
func (l Logits) String() string {
	switch l {
	case None:
		return "none"
	case Last:
		return "last"
	}
	return "all"
}

// check says whether there is such a program of a decoder.
func (f Form) check(c Config) error {
	if err := f.Place.Check(c.Dims()); err != nil {
		return err
	}
	if f.DType != tensor.F32 && f.DType != tensor.BF16 {
		return fmt.Errorf("weights can be held as f32 or bf16, not %v", f.DType)
	}
	if f.Rows < 1 || f.Rows > tensor.MaxElements || f.Tokens < 1 {
		return fmt.Errorf("a batch of %d rows of %d tokens is none", f.Rows, f.Tokens)
	}
	if f.Tokens > c.Context {
		return fmt.Errorf("%d tokens are more than the context of %d", f.Tokens, c.Context)
	}
	if f.Logits < None || f.Logits > All {
		return fmt.Errorf("there is no choice of logits %d", f.Logits)
	}
	if f.Leads && f.Logits != Last {
		return errors.New("only logits of the last tokens have leads")
	}
	if f.Cache == nil {
		return errors.New("a form needs a cache")
	}
	if err := f.Cache.check(c.Context); err != nil {
		return err
	}
	if f.Tokens > f.Cache.capacity() {
		return fmt.Errorf("%d tokens do not fit a cache of %d positions", f.Tokens, f.Cache.capacity())
	}
	return nil
}

// CacheShape is the shape of the keys, and of the values, of one layer.
func (f Form) CacheShape(c Config) []int {
	from, to := f.Place.KVHeads(c.Dims())
	return f.Cache.pool(f.Rows, to-from, c.HeadDim)
}
