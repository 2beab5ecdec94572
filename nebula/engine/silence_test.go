package engine

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

// mute is a link whose other end takes everything and says nothing.
func mute(t *testing.T) Link {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "mute"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near
}

// TestSilentFromTheStart checks that nobody waits without limit for the first sign of
// life: not rank 0 for that of another rank, nor that rank for that of rank 0.
func TestSilentFromTheStart(t *testing.T) {
	m, l := seeded(t, tinyConfig()), shard.Layout{TP: 2, PP: 1}
	for rank, start := range []func(Member) error{
		func(m Member) error {
			_, err := Lead(t.Context(), m, []Link{nil, mute(t)}, Options{})
			return err
		},
		func(m Member) error { return Serve(t.Context(), m, mute(t)) },
	} {
		world := collective.Local(2, collective.Options{Timeout: time.Minute})
		member := Member{Model: m, Place: shard.Place{Layout: l, Rank: rank}, Backend: single(), World: world[rank], Deadline: 50 * time.Millisecond}
		var cause *Error
		if err := start(member); !errors.As(err, &cause) || cause.Rank != 1-rank || cause.Op != opHeartbeat {
			t.Errorf("rank %d, with a mute one, ends with %v", rank, err)
		}
	}
}
