package cache

import (
	"errors"
	"slices"
)

// ErrReleased is returned when a released sequence is to be extended.
var ErrReleased = errors.New("KV sequence was released")

// Sequence is the cached part of one request: the tokens whose keys and values
// are in the pool or will be once the steps handed over have run.
type Sequence struct {
	pool      *Pool
	table     []int32
	length    int
	cached    int
	published int // blocks of the table that Publish has seen
	released  bool

	// The node of the tree that has the content of the full blocks, while
	// inTree; not necessarily a block of this table, when two sequences
	// computed the same content at the same time.
	node   int32
	gen    uint32
	hash   uint64
	inTree bool
}

// Open starts a sequence with the longest prefix of the prompt that is in
// shared blocks. Its length is a multiple of the block size and less than the
// prompt's; the caller extends it by the rest, prompt[s.Len():], in as many
// parts as it likes. A sequence that was preempted is opened again with all of
// its tokens.
func (p *Pool) Open(prompt []int32) *Sequence {
	s := &Sequence{pool: p, node: none, inTree: !p.cfg.NoSharing}
	blocks, hash := p.match(prompt, func(b int32) {
		p.addRef(b)
		s.table = append(s.table, b)
	})
	s.hash, s.published = hash, blocks
	s.length = blocks * p.cfg.BlockSize
	s.cached = s.length
	if blocks > 0 {
		s.node = s.table[blocks-1]
		s.gen = p.blocks[s.node].gen
	}
	p.stats.Prompt += uint64(len(prompt))
	p.stats.Hit += uint64(s.cached)
	return s
}

// Len returns the tokens of the sequence: the position of the next one.
func (s *Sequence) Len() int { return s.length }

// Cached returns the tokens that Open found.
func (s *Sequence) Cached() int { return s.cached }

// Blocks returns the block table. It is a view that later calls leave as it is
// and that must not be written to.
func (s *Sequence) Blocks() []int32 { return slices.Clip(s.table) }

// Need returns how many blocks must be available to extend the sequence by n tokens.
func (s *Sequence) Need(n int) int { return s.pool.BlocksFor(s.length+n) - len(s.table) }

// Extend makes room for tokens and records them as the sequence's next ones. It
// fails with [*OutOfBlocks] and then has changed nothing.
func (s *Sequence) Extend(tokens []int32) error {
	if s.released {
		return ErrReleased
	}
	p := s.pool
	if need := s.Need(len(tokens)); need > p.Available() {
		return &OutOfBlocks{Need: need, Free: p.Available()}
	}
	size := p.cfg.BlockSize
	for len(tokens) > 0 {
		at := s.length % size
		if at == 0 {
			s.table = append(s.table, p.take())
		}
		b := s.table[len(s.table)-1]
		n := copy(p.content(b)[at:], tokens)
		tokens = tokens[n:]
		s.length += n
		if s.length%size == 0 {
			s.filled(b)
		}
	}
	return nil
}

// filled gives the block that has just become full its place in the tree.
func (s *Sequence) filled(b int32) {
	p := s.pool
	if s.node != none && p.blocks[s.node].gen != s.gen {
		s.inTree = false // its prefix has left the tree
	}
	if !s.inTree {
		return
	}
	tokens := p.content(b)
	hash := p.hash(s.hash, tokens)
	node := p.find(hash, s.node, tokens)
	if node == none {
		if !p.join(b, s.node, hash) {
			s.inTree = false
			return
		}
		node = b
	}
	s.node, s.gen, s.hash = node, p.blocks[node].gen, hash
}

// Publish lets others share the full blocks. The caller has handed over the
// step that fills them, or will do so before any later step.
func (s *Sequence) Publish() {
	full := s.length / s.pool.cfg.BlockSize
	for ; !s.released && s.published < full; s.published++ {
		s.pool.blocks[s.table[s.published]].ready = true
	}
}

// Release gives the blocks back; a second call does nothing. Published blocks
// stay shareable until their room is needed, the first of the sequence longest.
func (s *Sequence) Release() {
	for _, b := range slices.Backward(s.table) {
		s.pool.dropRef(b)
	}
	s.released, s.table = true, nil
}
