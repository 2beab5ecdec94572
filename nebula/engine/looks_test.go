package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilence sees that a rank is silent when others have looked for it in vain as often
// as in a deadline, whatever time has passed: twice as often before its first sign of life.
func TestSilence(t *testing.T) {
	c := newConn(nil, 3, 0, 1)
	silentAfter := func(n, deadlines int) {
		t.Helper()
		for i := range n {
			if c.look(); (c.silence(time.Hour, deadlines) != nil) != (i == n-1) {
				t.Fatalf("after %d looks: %v", i+1, c.silence(time.Hour, deadlines))
			}
		}
		c.heard.Store(true)
		if c.look(); c.silence(time.Hour, deadlines) != nil {
			t.Error("it was heard, and is silent")
		}
	}
	silentAfter(2*looks, 1)
	c.pinged.Store(true)
	silentAfter(looks, 1)
	silentAfter(2*looks, 2)
	for range looks {
		c.look()
	}
	if e := c.silence(time.Hour, 1); e.Rank != 1 || e.Epoch != 3 || e.Op != opHeartbeat || !strings.Contains(e.Error(), "no sign of life for 1h0m0s") {
		t.Errorf("error %v", e)
	}
}

// TestOverdue sees that the first step in flight is looked at anew when the one before it
// has ended.
func TestOverdue(t *testing.T) {
	l := &flights{memory: newResults(5)}
	if number, _, _ := l.look(); number != 0 {
		t.Errorf("step %d is in flight", number)
	}
	first, _ := l.launch(&work{number: 1}, 1), l.launch(&work{number: 2}, 1)
	for i := range 3 {
		if number, seen, deadlines := l.look(); number != 1 || seen != i+1 || deadlines != 1 {
			t.Errorf("look %d is the %dth at step %d of %d deadlines", i+1, seen, number, deadlines)
		}
	}
	l.complete(first)
	if number, seen, _ := l.look(); number != 2 || seen != 1 {
		t.Errorf("it is the %dth look at step %d", seen, number)
	}
}

// TestCountdown has one that comes to its end, and one that is stopped.
func TestCountdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, _ := countdown(time.Minute)
		never, stop := countdown(time.Hour)
		time.Sleep(50 * time.Minute)
		<-late
		stop()
		time.Sleep(time.Hour)
		select {
		case <-never:
			t.Error("what was stopped goes on")
		default:
		}
		begun := time.Now()
		late, _ = countdown(time.Minute)
		if <-late; time.Since(begun) != time.Minute {
			t.Errorf("it takes %v", time.Since(begun))
		}
	})
}

// TestGrace has the best report become the cause though it comes last, when others have
// had the time to report.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan *Error, 1)
		h := newHealth(1, time.Minute, func(e *Error) { told <- e })
		weak, strong := &Error{Rank: 1, Err: errors.New("late")}, &Error{Rank: 2, Err: errors.New("waited")}
		h.fail(report{0, overdue, weak})
		time.Sleep(59 * time.Second)
		h.fail(report{1, waitedLong, strong})
		if len(told) > 0 {
			t.Error("the cause is settled before others had the time to report")
		}
		if cause := <-told; cause != strong {
			t.Errorf("the cause is %v", cause)
		}
	})
}
