package token

import "fmt"

// missing is a character, as the vocabulary would write it, that no token stands for.
type missing string

func (m missing) Error() string { return fmt.Sprintf("the vocabulary has no token for %q", string(m)) }

// bpe is byte-pair encoding: which pairs of tokens join, in which order, and to what.
type bpe struct {
	ids     map[string]int32
	merges  map[pair]merge
	whole   bool        // a word that is a token is that token, whatever the merges say
	bytes   *[256]int32 // the tokens of the bytes, for characters without a token
	unknown int32       // the token of characters that have none; -1: they are an error
	fuse    bool        // neighbouring unknown characters are one token
}

type pair struct{ left, right int32 }

type merge struct{ rank, id int32 }

// symbol is a token of a word that is being encoded, in a list linked both ways.
type symbol struct{ id, before, after int32 }

// candidate is a merge that was possible when it was queued: of the symbol at a place
// and the one after it. Better candidates have a lower rank, then stand further left.
type candidate struct{ rank, at, id int32 }

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// workspace is the memory of an encoding, used again for each word.
type workspace struct {
	symbols []symbol
	queue   []candidate
}

// encode appends the ids of a word. It takes n log n steps for n characters.
func (b *bpe) encode(w *workspace, ids []int32, word string) ([]int32, error) {
	if b.whole {
		if id, ok := b.ids[word]; ok {
			return append(ids, id), nil
		}
	}
	if err := b.spell(w, word); err != nil {
		return nil, err
	}
	w.queue = w.queue[:0]
	for i := range w.symbols {
		b.consider(w, int32(i))
	}
	for len(w.queue) > 0 {
		b.join(w, w.pop())
	}
	for i := int32(0); i >= 0 && len(w.symbols) > 0; i = w.symbols[i].after {
		ids = append(ids, w.symbols[i].id)
	}
	return ids, nil
}

// spell sets the symbols to the characters of a word.
func (b *bpe) spell(w *workspace, word string) error {
	w.symbols = w.symbols[:0]
	for i, r := range word {
		char := word[i : i+len(string(r))]
		if id, ok := b.ids[char]; ok {
			w.add(id)
		} else if b.spellBytes(w, char) {
			continue
		} else if b.unknown < 0 {
			return missing(char)
		} else if n := len(w.symbols); !b.fuse || n == 0 || w.symbols[n-1].id != b.unknown {
			w.add(b.unknown)
		}
	}
	if n := len(w.symbols); n > 0 {
		w.symbols[n-1].after = -1
	}
	return nil
}

func (b *bpe) spellBytes(w *workspace, char string) bool {
	if b.bytes == nil {
		return false
	}
	for i := range len(char) {
		if b.bytes[char[i]] < 0 {
			return false
		}
	}
	for i := range len(char) {
		w.add(b.bytes[char[i]])
	}
	return true
}

func (w *workspace) add(id int32) {
	n := int32(len(w.symbols))
	w.symbols = append(w.symbols, symbol{id, n - 1, n + 1})
}

// consider queues the merge of a symbol with the one after it.
func (b *bpe) consider(w *workspace, at int32) {
	if at < 0 || w.symbols[at].after < 0 {
		return
	}
	s := w.symbols[at]
	if m, ok := b.merges[pair{s.id, w.symbols[s.after].id}]; ok {
		w.push(candidate{m.rank, at, m.id})
	}
}

// join merges, if the two symbols are still those that were queued.
func (b *bpe) join(w *workspace, c candidate) {
	left := &w.symbols[c.at]
	if left.id < 0 || left.after < 0 {
		return
	}
	right := &w.symbols[left.after]
	if m, ok := b.merges[pair{left.id, right.id}]; !ok || m.id != c.id {
		return
	}
	left.id, left.after, right.id = c.id, right.after, -1
	if left.after >= 0 {
		w.symbols[left.after].before = c.at
	}
	b.consider(w, left.before)
	b.consider(w, c.at)
}

// push and pop keep the queue a binary heap. The standard library's would allocate
// for every candidate.
func (w *workspace) push(c candidate) {
	w.queue = append(w.queue, c)
	q := w.queue
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			return
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

func (w *workspace) pop() candidate {
	q := w.queue
	top, last := q[0], len(q)-1
	q[0] = q[last]
	q = q[:last]
	w.queue = q
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q[child].before(q[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}
