// Package cache keeps the books of the paged KV cache: which blocks a sequence
// owns, which it shares, and which may be used again. It holds no tensors; the
// pools of keys and values live with the ranks, and the numbers given out here
// index them.
//
// # Model
//
// A [Pool] has a fixed number of blocks of BlockSize tokens. A [Sequence] has a
// table of blocks: token i of the sequence lies in block table[i/BlockSize] at
// offset i%BlockSize, in every layer and on every rank alike, so that the books
// are kept once for all of them. A contiguous cache is the same thing with
// BlockSize equal to its capacity: one block for each row.
//
// # Prefix sharing
//
// A block that is full has a content: its tokens, after the content of the
// blocks before it. Full blocks form a tree by content. [Pool.Open] walks it
// with the tokens of a prompt and takes every block that it finds; a hash,
// chained from block to block and started from a salt of the model, finds the
// candidate, and the tokens themselves decide, so that a collision costs a
// missed hit and never a wrong one. Only full blocks are shared and a full block
// is never written again: there is nothing to copy on write. The last token of
// a prompt is always left to compute, because its logits are needed.
//
// Blocks without a reference stay in the tree, least recently used first out,
// until their room is needed. A block that leaves takes its descendants out of
// the tree with it: nobody could reach them any more.
//
// # Order
//
// A block may be shared from the moment the step that fills it has been handed
// to the engine ([Sequence.Publish]), and given to another sequence from the
// moment it is released, because ranks execute steps in the order they were
// sent. Within one step there is no order.
//
// Nothing here is safe for concurrent use; the scheduler owns a Pool, and a
// worker owns a [Ledger], which checks on the rank what the scheduler planned.
package cache

import (
	"fmt"
	"slices"
)

// MaxTokens bounds the tokens of a pool (blocks times block size).
const MaxTokens = 1 << 30

// none stands for "no block" in links between blocks, and for the root of the tree.
const none int32 = -1

// Config describes a pool.
type Config struct {
	Blocks    int    // blocks of the pool
	BlockSize int    // tokens of a block
	Salt      string // identity of the model: contents of two models never share a hash on purpose
	NoSharing bool   // every sequence computes everything; for comparison
}

// Pool gives blocks to sequences.
type Pool struct {
	cfg    Config
	hash   func(seed uint64, tokens []int32) uint64
	root   uint64           // hash of the empty prefix
	index  map[uint64]int32 // chained hash -> block of the tree
	tokens []int32          // what each block holds, block after block
	blocks []block
	free   []int32 // without content, a stack
	oldest int32   // unreferenced blocks of the tree, least recently used first
	newest int32
	stats  Stats
}

// block is one block and, while inTree, a node of the content tree.
type block struct {
	refs         int32
	inTree       bool
	ready        bool   // its step has been handed over: it may be shared
	gen          uint32 // counts departures from the tree: a remembered node is gone when it differs
	hash         uint64
	parent       int32 // node before it, or none
	child        int32 // first child
	left, right  int32 // siblings
	older, newer int32 // neighbours among the unreferenced
}

// OutOfBlocks says that a sequence needs more blocks than are free.
type OutOfBlocks struct{ Need, Free int }

func (e *OutOfBlocks) Error() string {
	return fmt.Sprintf("out of KV blocks: %d needed, %d free", e.Need, e.Free)
}

// New makes an empty pool.
func New(cfg Config) (*Pool, error) {
	if err := checkSize(cfg.Blocks, cfg.BlockSize); err != nil {
		return nil, err
	}
	p := &Pool{
		cfg: cfg, hash: chain, index: make(map[uint64]int32),
		tokens: make([]int32, cfg.Blocks*cfg.BlockSize),
		blocks: make([]block, cfg.Blocks), free: make([]int32, cfg.Blocks),
		oldest: none, newest: none,
	}
	p.root = saltHash(cfg.Salt)
	for i := range p.free {
		p.free[i] = int32(cfg.Blocks - 1 - i) // low numbers go first
	}
	return p, nil
}

func checkSize(blocks, blockSize int) error {
	if blocks < 1 || blockSize < 1 || blockSize > MaxTokens || blocks > MaxTokens/blockSize {
		return fmt.Errorf("KV pool of %d blocks of %d tokens: both at least 1, and no more than %d tokens in all",
			blocks, blockSize, MaxTokens)
	}
	return nil
}

// BlockSize returns the tokens of a block.
func (p *Pool) BlockSize() int { return p.cfg.BlockSize }

// Blocks returns the blocks of the pool.
func (p *Pool) Blocks() int { return p.cfg.Blocks }

// BlocksFor returns how many blocks n tokens occupy.
func (p *Pool) BlocksFor(n int) int { return (n + p.cfg.BlockSize - 1) / p.cfg.BlockSize }

// Available returns how many blocks can be had: free ones, and those kept only
// for the chance of being shared.
func (p *Pool) Available() int { return len(p.free) + p.stats.Cached }

// take gives one block with a single reference. One must be available.
func (p *Pool) take() int32 {
	if len(p.free) == 0 {
		p.stats.Evictions++
		p.leave(p.oldest)
	}
	last := len(p.free) - 1
	b := p.free[last]
	p.free = p.free[:last]
	p.addRef(b)
	return b
}

func (p *Pool) addRef(b int32) {
	node := &p.blocks[b]
	switch node.refs {
	case 0:
		p.stats.Used++
		if node.inTree {
			p.unlinkUnused(b)
		}
	case 1:
		p.stats.Shared++
	}
	node.refs++
}

func (p *Pool) dropRef(b int32) {
	node := &p.blocks[b]
	node.refs--
	switch node.refs {
	case 0:
		p.stats.Used--
		switch {
		case node.inTree && node.ready:
			p.linkUnused(b)
		case node.inTree:
			p.leave(b)
		default:
			p.free = append(p.free, b)
		}
	case 1:
		p.stats.Shared--
	}
}

// linkUnused makes b the most recently used of the unreferenced blocks.
func (p *Pool) linkUnused(b int32) {
	p.stats.Cached++
	node := &p.blocks[b]
	node.older, node.newer = p.newest, none
	if p.newest == none {
		p.oldest = b
	} else {
		p.blocks[p.newest].newer = b
	}
	p.newest = b
}

func (p *Pool) unlinkUnused(b int32) {
	p.stats.Cached--
	node := &p.blocks[b]
	if node.older == none {
		p.oldest = node.newer
	} else {
		p.blocks[node.older].newer = node.newer
	}
	if node.newer == none {
		p.newest = node.older
	} else {
		p.blocks[node.newer].older = node.older
	}
}

// content returns the tokens that block b holds, or room for them.
func (p *Pool) content(b int32) []int32 {
	size := p.cfg.BlockSize
	return p.tokens[int(b)*size : (int(b)+1)*size]
}

func (p *Pool) holds(b int32, tokens []int32) bool { return slices.Equal(p.content(b), tokens) }
