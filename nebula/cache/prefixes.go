package cache

import "container/list"

// Prefixes guesses what a pool elsewhere has of a prompt, by the sequences that were
// sent there: it remembers the hashes of as many full blocks as the pool has, those of
// the latest sequences. A wrong guess costs a missed hit. It is not safe for concurrent
// use.
type Prefixes struct {
	size, most int
	blocks     map[uint64]*list.Element
	order      list.List // of hashes, the latest in front
}

// NewPrefixes is for a pool of so many blocks of blockSize tokens.
func NewPrefixes(blockSize, blocks int) *Prefixes {
	return &Prefixes{size: blockSize, most: blocks, blocks: make(map[uint64]*list.Element)}
}

// Add takes a sequence that was sent to the pool. Of a longer one than the pool the
// beginning is remembered.
func (p *Prefixes) Add(tokens []int32) {
	hashes := p.hashes(tokens)
	if len(hashes) > p.most {
		hashes = hashes[:p.most]
	}
	for i := len(hashes) - 1; i >= 0; i-- { // the beginning last: it stays longest
		if e, ok := p.blocks[hashes[i]]; ok {
			p.order.MoveToFront(e)
		} else {
			p.blocks[hashes[i]] = p.order.PushFront(hashes[i])
		}
	}
	for p.order.Len() > p.most {
		delete(p.blocks, p.order.Remove(p.order.Back()).(uint64))
	}
}

// Match is how many tokens of a prompt are probably there, of which the last one does
// not count: see [Pool.Match].
func (p *Prefixes) Match(prompt []int32) int {
	if len(prompt) == 0 {
		return 0
	}
	n := 0
	for _, hash := range p.hashes(prompt[:len(prompt)-1]) {
		if p.blocks[hash] == nil {
			break
		}
		n += p.size
	}
	return n
}

// hashes are those of the full blocks of a sequence, each with all before it.
func (p *Prefixes) hashes(tokens []int32) []uint64 {
	if p.size < 1 {
		return nil
	}
	all, hash := make([]uint64, 0, len(tokens)/p.size), uint64(fnvOffset)
	for at := p.size; at <= len(tokens); at += p.size {
		hash = chain(hash, tokens[at-p.size:at])
		all = append(all, hash)
	}
	return all
}
