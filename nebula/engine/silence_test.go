package engine

import (
	"encoding/binary"
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

// tardy is a link on which the wish to stop takes longer than signs of life are apart.
type tardy struct{ Link }

func (l tardy) Write(b []byte) (int, error) {
	if kind(binary.LittleEndian.Uint16(b[6:])) == kindStop {
		time.Sleep(2 * pingInterval)
	}
	return l.Link.Write(b)
}

// TestStopsOneAfterAnother closes an engine of which one rank has gone, as it was told to,
// long before another has heard of it: that is no failure.
func TestStopsOneAfterAnother(t *testing.T) {
	m, l := seeded(t, tinyConfig()), shard.Layout{TP: 1, PP: 3}
	worlds := collective.Local(3, collective.Options{Timeout: time.Minute})
	member := func(rank int) Member {
		return Member{Model: m, Place: shard.Place{Layout: l, Rank: rank}, Backend: single(), World: worlds[rank]}
	}
	links, served := make([]Link, 3), make(chan error, 2)
	for rank := 1; rank < 3; rank++ {
		ours, theirs := net.Pipe()
		links[rank] = ours
		go func() { served <- Serve(t.Context(), member(rank), theirs) }()
	}
	links[2] = tardy{links[2]}
	e, err := Lead(t.Context(), member(0), links, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for range 2 {
		if err := <-served; err != nil {
			t.Errorf("a rank ends with %v", err)
		}
	}
}
