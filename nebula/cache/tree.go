package cache

// The tree of contents. A node is a block; a path from the root is a prefix of
// tokens; the set of nodes is closed under prefixes. The index finds a node by
// its chained hash, and holds at most one node for each hash: a content that
// collides with another's stays outside the tree.

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// chain continues a hash over the tokens of one block (FNV-1a by words).
func chain(seed uint64, tokens []int32) uint64 {
	h := seed
	for _, t := range tokens {
		h = (h ^ uint64(uint32(t))) * fnvPrime
		h ^= h >> 32 // multiplication alone never moves high bits down
	}
	return h
}

func saltHash(salt string) uint64 {
	h := uint64(fnvOffset)
	for i := range len(salt) {
		h = (h ^ uint64(salt[i])) * fnvPrime
	}
	return h
}

// find returns the node with this hash, parent and content, or none.
func (p *Pool) find(hash uint64, parent int32, tokens []int32) int32 {
	b, ok := p.index[hash]
	if !ok || p.blocks[b].parent != parent || !p.holds(b, tokens) {
		return none
	}
	return b
}

// join puts the full block b under parent. It reports false when another
// content has the hash.
func (p *Pool) join(b, parent int32, hash uint64) bool {
	if _, taken := p.index[hash]; taken {
		return false
	}
	node := &p.blocks[b]
	node.inTree, node.ready, node.hash, node.parent = true, false, hash, parent
	node.child, node.left, node.right = none, none, none
	if parent != none {
		if first := p.blocks[parent].child; first != none {
			node.right = first
			p.blocks[first].left = b
		}
		p.blocks[parent].child = b
	}
	p.index[hash] = b
	return true
}

// leave takes b and its descendants out of the tree, from the leaves on, and frees
// those that nobody holds. A long sequence is a deep tree: it does not recurse.
func (p *Pool) leave(b int32) {
	for at := b; ; {
		if child := p.blocks[at].child; child != none {
			at = child
			continue
		}
		parent := p.blocks[at].parent
		p.cutLeaf(at)
		if at == b {
			return
		}
		at = parent
	}
}

// cutLeaf takes a node without children out of the tree.
func (p *Pool) cutLeaf(b int32) {
	node := &p.blocks[b]
	if node.left != none {
		p.blocks[node.left].right = node.right
	} else if node.parent != none {
		p.blocks[node.parent].child = node.right
	}
	if node.right != none {
		p.blocks[node.right].left = node.left
	}
	delete(p.index, node.hash)
	if node.refs == 0 {
		if node.ready {
			p.unlinkUnused(b)
		}
		p.free = append(p.free, b)
	}
	node.inTree = false
	node.gen++
}

// Match is what a pool has of a prompt.
type Match struct {
	Tokens int // in shared blocks
	Idle   int // of these blocks, how many nobody holds: taking them makes fewer available
}

// Match looks a prompt up and takes nothing.
func (p *Pool) Match(prompt []int32) Match {
	var m Match
	blocks, _ := p.match(prompt, func(b int32) {
		if p.blocks[b].refs == 0 {
			m.Idle++
		}
	})
	m.Tokens = blocks * p.cfg.BlockSize
	return m
}

// match calls visit for every shared block of a prompt, first to last, and
// returns how many there are and the hash of the last.
func (p *Pool) match(prompt []int32, visit func(int32)) (blocks int, hash uint64) {
	hash = p.root
	if p.cfg.NoSharing || len(prompt) == 0 {
		return 0, hash
	}
	size, parent := p.cfg.BlockSize, none
	for ; blocks < (len(prompt)-1)/size; blocks++ {
		tokens := prompt[blocks*size : (blocks+1)*size]
		next := p.hash(hash, tokens)
		b := p.find(next, parent, tokens)
		if b == none || !p.blocks[b].ready {
			return blocks, hash
		}
		visit(b)
		hash, parent = next, b
	}
	return blocks, hash
}
