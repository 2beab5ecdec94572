package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/nebula/shard"
)

func TestReadyPrograms(t *testing.T) {
	s := sizes{context: 2048, maxRows: 12, maxTokens: 200}
	for _, c := range []struct {
		ready Ready
		want  string
	}{
		{Ready{}, ""},
		{Ready{Rows: 1}, "1x1 1x16 1x32 1x64 1x128 1x200 1x200 without logits"},
		{Ready{Rows: 1, Tokens: 64}, "1x1 1x16 1x32 1x64 1x64 without logits"},
		{Ready{Rows: 1, Tokens: 1}, "1x1"},
		{Ready{Rows: 3, Tokens: 20}, "1x1 2x1 4x1 1x16 2x16 1x32 2x32"},
		{Ready{Rows: 99, Tokens: 64}, "1x1 2x1 4x1 8x1 12x1 1x16 2x16 4x16 1x32 2x32 4x32 1x64 1x64 without logits"},
	} {
		var names []string
		cut := newCutter(s)
		for _, b := range c.ready.programs(s) {
			if !cut.has(b) {
				t.Errorf("%+v: %v is no program", c.ready, b)
			}
			names = append(names, b.String())
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v are programs %s, not %s", c.ready, got, c.want)
		}
	}
	s.context = 200
	if list := (Ready{Rows: 1}).programs(s); !list[len(list)-1].logits {
		t.Errorf("%v is for prompts of more than the context", list[len(list)-1])
	}
}

// TestReady cuts steps of up to so many rows, chunks of any size among them, into the
// programs that an engine has compiled for them.
func TestReady(t *testing.T) {
	for _, r := range []Ready{{Rows: 1}, {Rows: 3}, {Rows: 12}} {
		s := sizes{context: 2048, maxRows: 12, maxTokens: 200}
		known := make(map[bucket]bool)
		for _, b := range r.programs(s) {
			known[b] = true
		}
		cut := newCutter(s)
		for n := 1; n <= 200; n++ {
			for rows := 1; rows <= r.Rows && rows*n <= 200; rows++ {
				for _, last := range []bool{true, false} {
					if !last && r.Rows == 1 && n < 200 {
						continue // a part of a prompt is as long as may be
					}
					step := make([]Row, rows)
					for i := range step {
						step[i] = Row{Tokens: make([]int32, n), Logits: last}
					}
					for _, p := range cut.cut(step) {
						if !known[p.bucket] {
							t.Fatalf("%+v: %d rows of %d tokens need program %v", r, rows, n, p.bucket)
						}
					}
				}
			}
		}
	}
}

// slowCompiler compiles until it is interrupted, after some programs.
type slowCompiler struct {
	backend.Backend
	*fuse
	begun chan struct{}
}

func (b *slowCompiler) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if b.blows() {
		close(b.begun)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return b.Backend.Compile(ctx, g)
}

// TestReadyInterrupted ends a start while one rank compiles: it ends at once, on all
// ranks, with the reason.
func TestReadyInterrupted(t *testing.T) {
	m := seeded(t, llamaConfig())
	for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 2}} {
		t.Run(l.String(), func(t *testing.T) {
			b := &slowCompiler{single(), newFuse("", 3), make(chan struct{})}
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupt := errors.New("interrupted")
			go func() { <-b.begun; cancel(interrupt) }()
			_, err := Local(ctx, m, l, LocalOptions{Options: Options{Ready: Ready{Rows: 2}}, Backend: b})
			if !errors.Is(err, interrupt) {
				t.Errorf("error %v", err)
			}
			nothingLeft(t)
		})
	}
}

// shown keeps what is displayed.
type shown struct{ texts chan string }

func (s *shown) Show(o display.Output) error {
	s.texts <- fmt.Sprint(o.Bundle.Data["text/plain"])
	return nil
}

func (s *shown) Clear(bool) error { return nil }

// TestReadyShown sees that somebody who waits for a compilation learns how far it is.
func TestReadyShown(t *testing.T) {
	b := &slowCompiler{single(), newFuse("", 2), make(chan struct{})}
	s := &shown{make(chan string, 100)}
	ctx, cancel := context.WithCancel(display.WithSink(t.Context(), s))
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = Local(ctx, seeded(t, llamaConfig()), shard.Layout{TP: 1, PP: 1}, LocalOptions{Options: Options{Ready: Ready{Rows: 1}}, Backend: b})
	}()
	for text := ""; !strings.Contains(text, "2/"); { // on a slow machine less is shown before
		if text = <-s.texts; !strings.Contains(text, "compiling programs") {
			t.Errorf("%q is shown", text)
		}
	}
	cancel()
	<-ended
}
