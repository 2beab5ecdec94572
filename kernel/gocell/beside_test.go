package gocell

import "testing"

// TestMethodsChangeBeside calls methods through an interface while other cells give
// the type's methods other signatures; the race detector looks on.
func TestMethodsChangeBeside(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, `type T struct{ n int }
func (t T) N() int { return t.n }
func (t T) Other() {}
var calls atomic.Int64
stop := make(chan bool)
go func() {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
			var v interface{ N() int } = T{i}
			v.N()
			calls.Add(1)
		}
	}
}()`)
	for range 10 {
		mustRun(t, s, "func (t T) Other(n int) {}")
		mustRun(t, s, "func (t T) Other() {}")
	}
	if got := mustRun(t, s, "for calls.Load() == 0 { runtime.Gosched() }\nclose(stop)\ncalls.Load() > 0"); got != "true" {
		t.Error(got)
	}
}
