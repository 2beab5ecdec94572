package plan

// Limits of the search through all orders.
const (
	exactKernels = 64
	exactStates  = 2000
)

// states is a search for the order with the least peak. What is live depends
// only on the set of kernels that have run, not on their order, so one best
// order per set is enough; a chain of n kernels has n+1 sets.
type states struct {
	*analysis
	opts Options
	best map[uint64]state // by the set of kernels that have run
}

// state is the best way to run a set of kernels.
type state struct {
	peak int64
	last int // the kernel that ran last
}

// exact returns an order whose peak no other order is below, and that peak. It
// gives up, with a nil order, when there are too many kernels or sets.
func (a *analysis) exact(opts Options) ([]int, int64) {
	if len(a.kernels) > exactKernels {
		return nil, 0
	}
	s := &states{analysis: a, opts: opts, best: map[uint64]state{0: {}}}
	frontier := []uint64{0}
	for range a.kernels {
		var next []uint64
		for _, done := range frontier {
			next = s.extend(done, next)
		}
		if len(s.best) > exactStates {
			return nil, 0
		}
		frontier = next
	}
	order := make([]int, len(a.kernels))
	done := frontier[0]
	peak := s.best[done].peak
	for t := len(order) - 1; t >= 0; t-- {
		order[t] = s.best[done].last
		done &^= 1 << order[t]
	}
	return order, peak
}

// extend runs each kernel that may follow a set, and appends the sets that this
// finds for the first time.
func (s *states) extend(done uint64, found []uint64) []uint64 {
	live := s.live(done)
	for k := range s.kernels {
		if done>>k&1 == 1 || !s.ready(k, done) {
			continue
		}
		peak := max(s.best[done].peak, live+s.allocated(k, done))
		then := done | 1<<k
		old, seen := s.best[then]
		if !seen {
			found = append(found, then)
		}
		if !seen || peak < old.peak || peak == old.peak && s.kernels[k].rank < s.kernels[old.last].rank {
			s.best[then] = state{peak, k}
		}
	}
	return found
}

func (s *states) ready(k int, done uint64) bool {
	for _, p := range s.kernels[k].after {
		if done>>p&1 == 0 {
			return false
		}
	}
	return true
}

// live is the bytes of storages that have been written and are still needed.
func (s *states) live(done uint64) int64 {
	var sum int64
	for i := range s.storages {
		if st := &s.storages[i]; st.place == InSlot && done>>st.writers[0]&1 == 1 && s.needed(st, done) {
			sum += st.bytes
		}
	}
	return sum
}

// needed reports whether a storage is read or written after a set has run.
func (s *states) needed(st *storage, done uint64) bool {
	if st.escapes {
		return true
	}
	for _, list := range [][]int{st.readers, st.writers} {
		for _, k := range list {
			if done>>k&1 == 0 {
				return true
			}
		}
	}
	return false
}

// allocated is the bytes that kernel k adds to those that are live before it.
func (s *states) allocated(k int, done uint64) int64 {
	donor := notWritten
	if !s.opts.NoReuseInPlace {
		donor = s.donor(k, func(i int) bool { return !s.needed(&s.storages[i], done|1<<k) })
	}
	if donor != notWritten {
		return 0
	}
	var sum int64
	for _, i := range s.kernels[k].writes {
		sum += s.storages[i].bytes
	}
	return sum
}
