package shader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// seed adds the corpus and the kernels.
func seed(f *testing.F) {
	for _, kind := range []string{"valid", "invalid", "faults"} {
		for _, e := range corpus(f, kind) {
			f.Add(e.source)
		}
	}
	for _, k := range kernelCases() {
		f.Add(source(f, k.name))
	}
}

// FuzzParse checks that any text is a module or one error with a place in it.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src string) {
		_, err := Parse(src)
		if err == nil {
			return
		}
		var s *syntax.Error
		if !errors.As(err, &s) {
			t.Fatalf("error is a %T: %v", err, err)
		}
		if lines := strings.Count(src, "\n") + 1; s.Pos.Line < 1 || s.Pos.Col < 1 || s.Message == "" ||
			s.Pos.Line > lines+strings.Count(src, "\r")+strings.Count(src, "\v")+strings.Count(src, "\f")+strings.Count(src, "\u0085")+strings.Count(src, "\u2028")+strings.Count(src, "\u2029") {
			t.Fatalf("error %q has no place in the text", err)
		}
	})
}

// FuzzDispatch runs what Parse accepts, and checks that it comes to an end.
func FuzzDispatch(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src string) {
		m, err := Parse(src)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		bindings := map[Binding][]byte{}
		for _, v := range m.module.Vars {
			if v.Space == check.Storage || v.Space == check.Uniform {
				if n := leastBytes(v.Type); n > 1<<20 {
					return
				}
				bindings[Binding{v.Group, v.Binding}] = make([]byte, max(256, (leastBytes(v.Type)+3)/4*4))
			}
		}
		for _, fn := range m.module.Funcs {
			if !fn.Compute {
				continue
			}
			used := map[Binding][]byte{}
			for _, v := range m.module.Reaches(fn) {
				if b, ok := bindings[Binding{v.Group, v.Binding}]; ok && (v.Space == check.Storage || v.Space == check.Uniform) {
					used[Binding{v.Group, v.Binding}] = b
				}
			}
			for _, m := range []*Module{m, {module: m.module, reals: true, programs: map[string]*program{}}} {
				err := m.Dispatch(ctx, Call{Entry: fn.Name, Groups: [3]uint32{2, 1, 1}, Bindings: used, Limits: Limits{Work: 1 << 16}})
				if errors.Is(err, context.DeadlineExceeded) {
					t.Fatal("the dispatch does not end")
				}
			}
		}
	})
}
