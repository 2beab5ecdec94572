package eval

import (
	"slices"
	"sync"
)

// threadList holds the goroutines that go statements started.
type threadList struct {
	mu  sync.Mutex
	all map[*thread]struct{}
}

func (l *threadList) add(th *thread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*thread]struct{}{}
	}
	th.id = threadIDs.Add(1)
	l.all[th] = struct{}{}
}

func (l *threadList) remove(th *thread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, th)
}

// each calls f for every goroutine, oldest first.
func (l *threadList) each(f func(*thread)) {
	l.mu.Lock()
	var list []*thread
	for th := range l.all {
		list = append(list, th)
	}
	l.mu.Unlock()
	slices.SortFunc(list, func(a, b *thread) int { return int(a.id) - int(b.id) })
	for _, th := range list {
		f(th)
	}
}
