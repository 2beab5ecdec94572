package collective

import (
	"errors"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// What comes over a control stream and is no message ends the group with an error.
func TestGarbageBetweenCalls(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		kind        error
		want        string
	}{
		{"kind", "\x63\x00\x00", ErrDiverged, "rank 0 sends message 99, which has no meaning"},
		{"length", "\x02\xff\xff", ErrDiverged, "rank 0 sends a message of 65535 bytes, where 8192 are the most"},
		{"late", "\x03\x02\x00\xff\xff", ErrDiverged, "rank 0 sends message 3, which has no meaning"},
		{"abort", "\x02\x01\x00\x07", ErrAborted, "aborted by rank 0: for a reason that cannot be read"},
		{"again", "\x01\x00\x00", ErrDiverged, "rank 0 sends message 1, which has no meaning"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range arrangements[1:3] {
				groups := a.make(t, 2, Options{})
				done := background(func() error { return groups[1].Barrier(t.Context()) })
				if _, err := groups[0].(*group).links[1].post.(*control).Write([]byte(c.bytes)); err != nil {
					t.Fatal(err)
				}
				if err := <-done; !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %s", a.name, err, c.want)
				}
			}
		})
	}
}

// Bytes in a ring that are no call are told from one; memory that another process
// has damaged cannot lead outside of the ring.
func TestDamagedRing(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(2, Options{})
		l := groups[0].(*group).links[1]
		copy(l.out.space(), strings.Repeat("garbage.", 8))
		l.out.advance(line)
		l.out.publish()
		err := groups[1].AllReduce(t.Context(), backend.Sum, one(tensor.F32, 4))
		want := "rank 0 calls something that is not a call, rank 1 calls all_reduce sum f32[4] as number 1"
		if !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	})
	t.Run("positions", func(t *testing.T) {
		groups := arrangements[1].make(t, 2, Options{Timeout: 50 * time.Millisecond})
		l := groups[0].(*group).links[1]
		l.out.written.position.Store(l.out.next + 1<<30)
		err := groups[1].Barrier(t.Context())
		failed(t, []error{err}, ErrDiverged, 0, "the ring shared with rank 0 is damaged")
		l = arrangements[1].make(t, 2, Options{})[0].(*group).links[1]
		l.out.read.position.Store(l.out.next - 1<<29)
		if n := len(l.out.space()); n != 0 {
			t.Errorf("%d bytes of a damaged ring may be written", n)
		}
	})
}
