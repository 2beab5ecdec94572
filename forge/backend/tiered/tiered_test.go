package tiered_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

const program = "graph f(%x: f32[5,40], %y: f32[40]) {\n %0: f32[5,40] = add %x, %y\n %1: f32[5,40] = exp %0\n %2: f32[5] = sum %1 {axes = [1]}\n return %2\n}"

func parse(t testing.TB) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, program)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ownCache gives a test an empty cache, and a backend whose work ends with the
// test.
func ownCache(t testing.TB) (b *tiered.Backend, dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("FORGE_CACHE_DIR", dir)
	b = &tiered.Backend{First: portable.New(), Second: cpu.New(), Work: tiered.NewWork(context.Background())}
	t.Cleanup(b.Work.Stop)
	return b, filepath.Join(dir, "cpu")
}

// recorder keeps what is displayed as text.
type recorder struct {
	mu   sync.Mutex
	text []string
}

func (r *recorder) Show(o display.Output) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := o.Bundle.Data["text/plain"].(string)
	r.text = append(r.text, text)
	return nil
}

func (r *recorder) Clear(bool) error { return nil }

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.text...)
}

func compile(t testing.TB, ctx context.Context, b *tiered.Backend) *tiered.Executable {
	t.Helper()
	exe, err := b.Compile(ctx, parse(t))
	if err != nil {
		t.Fatal(err)
	}
	return exe.(*tiered.Executable)
}

// checkRun compares a run with the interpreter.
func checkRun(t testing.TB, exe backend.Executable) {
	t.Helper()
	g := parse(t)
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		x, err := tensor.Randn(uint64(i+7), v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, x)
	}
	plain, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := exe.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want[0].Len() {
		if d := got[0].Elem(i)/want[0].Elem(i) - 1; !(d*d < 1e-10) {
			t.Errorf("element %d is %g, not %g", i, got[0].Elem(i), want[0].Elem(i))
		}
	}
}

// hostCompiler is the real one.
func hostCompiler(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("this host has no cc")
	}
	return path
}

// fakeCompiler makes a shell script the compiler.
func fakeCompiler(t testing.TB, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cc")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FORGE_CC", path)
}

func kernels(exe backend.Executable) string {
	var b strings.Builder
	for _, k := range exe.Kernels() {
		b.WriteString(k.Kernel + ": " + k.Reason + "\n")
	}
	return b.String()
}

// TestConformance runs every case in whatever form it has by then.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite compiles thousands of programs in the background")
	}
	b, _ := ownCache(t)
	t.Setenv("FORGE_CC", "/bin/false") // each process start is quick, and every fall back is taken
	conformance.Run(t, b)
}

// TestTakesOver compiles, swaps, and finds the library the second time.
func TestTakesOver(t *testing.T) {
	hostCompiler(t)
	b, dir := ownCache(t)
	for _, cached := range []bool{false, true} {
		exe := compile(t, t.Context(), b)
		checkRun(t, exe)
		if err := exe.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkRun(t, exe)
		if all := kernels(exe); strings.Count(all, ", C for ") != 3 || strings.Contains(all, "until") {
			t.Errorf("the kernels are %s", all)
		}
		if got := exe.Current().(interface{ Cached() bool }).Cached(); got != cached {
			t.Errorf("found compiled: %v, want %v", got, cached)
		}
		if notes := strings.Join(exe.Notes(), "\n"); strings.Contains(notes, "found compiled") != cached {
			t.Errorf("the notes are %s", notes)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) != 1 {
		t.Errorf("the cache holds %v", list)
	}
}

// TestCompilerTrouble gives the backend compilers that fail, hang, kill
// themselves, and leave nothing, garbage or wrong code. Each leaves the first form,
// an error that is told once, and no file.
func TestCompilerTrouble(t *testing.T) {
	real := hostCompiler(t)
	for name, c := range map[string]struct{ script, want string }{
		"fails":   {"echo program.c:1: error: no >&2; exit 1", "failed (exit status 1): program.c:1: error: no"},
		"killed":  {"kill -9 $$", "failed: signal: killed"},
		"nothing": {"exit 0", "left no library"},
		"garbage": {"echo hello > program.so", "does not load"},
		"hangs":   {"sleep 1000 & wait", "it took longer than the limit of 300ms"},
		"wrong":   {"sed -i 's/v_add(vf a, vf b) { return a + b; }/v_add(vf a, vf b) { return a - b; }/' program.c; exec " + real + ` "$@"`, "compiled the program wrongly: %2 is off by"},
		"empty":   {"echo 'int x;' > program.c; exec " + real + ` "$@"`, "has no function forge_run"},
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := ownCache(t)
			if name == "hangs" {
				b.Second.(*cpu.Backend).CompileLimit = 300 * time.Millisecond
			}
			fakeCompiler(t, c.script)
			told := &recorder{}
			for range 2 {
				exe := compile(t, display.WithSink(t.Context(), told), b)
				checkRun(t, exe)
				if err := exe.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got error %v, want %s", err, c.want)
				}
				checkRun(t, exe)
				if all := kernels(exe); !strings.Contains(all, "vectors of") || !strings.Contains(all, "backend cpu has no form of the program") {
					t.Errorf("the kernels are %s", all)
				}
				if notes := strings.Join(exe.Notes(), "\n"); !strings.Contains(notes, c.want) {
					t.Errorf("the notes are %s", notes)
				}
			}
			if all := told.all(); len(all) != 1 || !strings.HasPrefix(all[0], "warning: ") || !strings.Contains(all[0], c.want) {
				t.Errorf("the user was told %q", all)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("%v was left", left)
			}
		})
	}
}

// TestNoCompiler tells how to get one.
func TestNoCompiler(t *testing.T) {
	b, _ := ownCache(t)
	t.Setenv("FORGE_CC", "")
	t.Setenv("PATH", t.TempDir())
	told := &recorder{}
	exe := compile(t, display.WithSink(t.Context(), told), b)
	if err := exe.Settle(t.Context()); !errors.As(err, &cpu.NoCompiler{}) {
		t.Errorf("got error %v", err)
	}
	checkRun(t, exe)
	if all := strings.Join(told.all(), "\n"); !strings.Contains(all, tiered.HowToInstall) {
		t.Errorf("the user was told %q", all)
	}
}

// TestRunsWhileSwapping runs on several goroutines before, during and after the
// swap.
func TestRunsWhileSwapping(t *testing.T) {
	hostCompiler(t)
	b, _ := ownCache(t)
	exe := compile(t, t.Context(), b)
	var all sync.WaitGroup
	swapped := make(chan struct{})
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-swapped:
					checkRun(t, exe)
					return
				default:
					checkRun(t, exe)
				}
			}
		})
	}
	err := exe.Settle(t.Context())
	close(swapped)
	all.Wait()
	if err != nil {
		t.Error(err)
	}
}

// TestOtherRanks keeps programs with effects in their first form.
func TestOtherRanks(t *testing.T) {
	b, _ := ownCache(t)
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[4]) {\n %y: f32[4] = all_reduce %x {group = \"tp\", size = 1}\n return %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if err := exe.(*tiered.Executable).Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "other ranks") {
		t.Errorf("got error %v", err)
	}
}

// doubling is a backend whose results are twice what they should be.
type doubling struct{ backend.Backend }

type doubled struct{ backend.Executable }

func (b doubling) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	x, err := b.Backend.Compile(ctx, g)
	return doubled{x}, err
}

func (x doubled) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	out, err := x.Executable.Run(ctx, inputs...)
	for _, t := range out {
		for i := range t.Len() {
			t.SetElem(i, 2*t.Elem(i))
		}
	}
	return out, err
}

// A first form that is wrong is replaced, and the user hears of it.
func TestWrongFirst(t *testing.T) {
	b, _ := ownCache(t)
	b.First, b.Second = doubling{interp.New()}, interp.New()
	told := &recorder{}
	exe := compile(t, display.WithSink(t.Context(), told), b)
	if err := exe.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkRun(t, exe)
	if all := told.all(); len(all) != 1 || !strings.Contains(all[0], "results of f were wrong until now: %2") {
		t.Errorf("the user was told %q", all)
	}
}
