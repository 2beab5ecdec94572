package sched

import (
	"reflect"
	"testing"
	"time"
)

// The log has who took part in each step, where, and who waited: a prompt of two
// chunks beside one that decodes, and a third request that finds no row.
func TestLog(t *testing.T) {
	s := newSim(t, info(2, 8, 40, 4, 1), Options{Chunk: 4})
	s.submit(ask(prompt(0, 3), 3))
	s.tick()
	s.submit(ask(prompt(1, 6), 2))
	s.submit(ask(prompt(2, 3), 1))
	s.finish()
	took := func(tokens int) time.Duration { return stepCost + time.Duration(tokens)*tokenCost }
	want := []Step{
		{Number: 1, Parts: []Part{{1, 0, 3, true, true}}, Used: 1, Took: took(3)},
		{Number: 2, Parts: []Part{{1, 3, 1, false, true}, {2, 0, 4, true, false}}, Waiting: []uint64{3}, Used: 2, Took: took(5)},
		{Number: 3, Parts: []Part{{1, 4, 1, false, true}, {2, 4, 2, true, true}}, Waiting: []uint64{3}, Used: 4, Took: took(3)},
		{Number: 4, Parts: []Part{{2, 6, 1, false, true}, {3, 0, 3, true, true}}, Used: 3, Took: took(4)},
	}
	got := s.batch.log.steps()
	if len(got) != len(want) {
		t.Fatalf("%d steps, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("step %d is\n%+v, want\n%+v", i+1, got[i], want[i])
		}
	}
}

// A prefix that the cache has shows as a first part that does not begin at 0.
func TestLogOfASharedPrefix(t *testing.T) {
	s := newSim(t, info(2, 16, 40, 4, 1), Options{})
	for range 2 {
		s.submit(ask(prompt(0, 10), 1))
		s.finish()
	}
	log := s.batch.log.steps()
	if last := log[len(log)-1].Parts[0]; last.Pos != 8 || last.Tokens != 2 || !last.Next {
		t.Errorf("the second request computes %+v", last)
	}
}

// The log is bounded, and what it gave out does not change.
func TestLogIsARing(t *testing.T) {
	s := newSim(t, info(1, 8, 200, 4, 1), Options{})
	s.submit(ask(prompt(0, 3), kept+20))
	for range 10 {
		s.tick()
	}
	early := s.batch.log.steps()
	first := early[0].Parts[0]
	s.finish()
	late := s.batch.log.steps()
	if len(late) != kept || late[0].Number != 21 || late[kept-1].Number != kept+20 {
		t.Errorf("%d steps from %d to %d", len(late), late[0].Number, late[len(late)-1].Number)
	}
	if early[0].Parts[0] != first || len(early) != 10 {
		t.Errorf("what was given out is now %+v", early[0])
	}
}
