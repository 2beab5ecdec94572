package cpu

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// parse reads a graph and makes inputs for it.
func parse(t testing.TB, src string) (*ir.Graph, []*tensor.Tensor) {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	in, err := suite.Inputs(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return g, in
}

// compileFor compiles for a number of threads.
func compileFor(t testing.TB, g *ir.Graph, threads int) *executable {
	t.Helper()
	b := New()
	b.Threads = threads
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return exe.(*executable)
}

// bits are the elements of f32 tensors.
func bits(list []*tensor.Tensor) []uint32 {
	var all []uint32
	for _, x := range list {
		for _, v := range x.Float32() {
			all = append(all, math.Float32bits(v))
		}
	}
	return all
}

func runOf(t testing.TB, x *executable, in []*tensor.Tensor) []uint32 {
	t.Helper()
	out, err := x.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	return bits(out)
}

// sharedGraphs have a kernel of each kind, with whole and broken tiles and
// vectors, that is worth several threads.
var sharedGraphs = map[string]string{
	"long line":   "graph f(%x: f32[70001]) {\n %y: f32[70001] = gelu %x\n return %y\n}",
	"lines":       "graph f(%x: f32[37,3001], %b: f32[37,1]) {\n %y: f32[37,3001] = add %x, %b\n return %y\n}",
	"norm":        "graph f(%x: f32[197,301]) {\n %y: f32[197,301] = rms_norm %x\n return %y\n}",
	"softmax":     "graph f(%x: f32[5,61,77]) {\n %y: f32[5,61,77] = softmax %x {axis = 2}\n return %y\n}",
	"columns":     "graph f(%x: f32[3,301,117]) {\n %y: f32[3,117] = sum %x {axes = [1]}\n return %y\n}",
	"rows":        "graph f(%x: f32[1043,96], %w: f32[96,53]) {\n %y: f32[1043,53] = matmul %x, %w\n return %y\n}",
	"panels":      "graph f(%x: f32[3,256], %w: f32[256,1003]) {\n %y: f32[3,1003] = matmul %x, %w\n return %y\n}",
	"batch":       "graph f(%x: f32[2,3,70,64], %w: f32[3,64,50]) {\n %y: f32[2,3,70,50] = matmul %x, %w\n return %y\n}",
	"cache block": "graph f(%x: f32[307,1024], %w: f32[1024,37]) {\n %y: f32[307,37] = matmul %x, %w\n return %y\n}",
	"attention":   "graph f(%q: f32[2,4,67,32], %k: f32[2,2,67,32], %v: f32[2,2,67,24]) {\n %y: f32[2,4,67,24] = sdpa %q, %k, %v {causal = true}\n return %y\n}",
}

// newTeam makes a team of a C function that shares a kernel in its own way.
func newTeam(t *testing.T, share string) *team {
	t.Helper()
	lib, err := New().build(t.Context(), "typedef void work(char *const *p, const int *stop, long from, long to);\n"+
		"struct team;\nvoid share(struct team *t, work *f, char *const *p, const int *stop, long units, long grain) {\n"+share+"\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	f, err := lib.function("share")
	if err != nil {
		t.Fatal(err)
	}
	memory := &[]uintptr{f}
	t.Cleanup(func() { runtime.KeepAlive(lib); runtime.KeepAlive(memory) })
	return &team{address: uintptr(unsafe.Pointer(unsafe.SliceData(*memory)))}
}

// TestAnySplit runs the units of kernels one by one, backwards, and in uneven
// runs, and wants the bits of all of them in one go.
func TestAnySplit(t *testing.T) {
	ways := map[string]*team{
		"backwards": newTeam(t, "for (long u = units; u-- > 0;) f(p, stop, u, u + 1);"),
		"uneven":    newTeam(t, "for (long u = 0, n = 1; u < units; u += n++) f(p, stop, u, u + n < units ? u + n : units);"),
		"grains":    newTeam(t, "for (long u = 0; u < units; u += grain) f(p, stop, u, u + grain < units ? u + grain : units);"),
	}
	var graphs []*ir.Graph
	for _, src := range sharedGraphs {
		g, _ := parse(t, src)
		graphs = append(graphs, g)
	}
	for _, target := range Targets() {
		b := New()
		b.Target, b.Threads = target, 1
		list, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			x, name := exe.(*executable), graphs[i].String()
			in, err := suite.Inputs(graphs[i], 1)
			if err != nil {
				t.Fatal(err)
			}
			if x.program.shared < teamLeast {
				t.Errorf("%s, %s: not worth several threads: %.0f ns", name, target.Name, x.program.shared)
			}
			want := runOf(t, x, in)
			for way, team := range ways {
				x.team = team
				if !slices.Equal(runOf(t, x, in), want) {
					t.Errorf("%s, %s: units done %s give other bits", name, target.Name, way)
				}
			}
		}
	}
}

// TestStopBetweenUnits raises the flag in the middle of a kernel and looks which
// units still write.
func TestStopBetweenUnits(t *testing.T) {
	half := newTeam(t, "for (long u = 0; u < units; u++) { if (u == units / 2) *(int *)stop = 1; f(p, stop, u, u + 1); }")
	for name, src := range sharedGraphs {
		g, in := parse(t, src)
		x := compileFor(t, g, 1)
		x.team = half
		out, err := tensor.Full(tensor.F32, math.Inf(-1), g.Outputs[0].Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		f := x.frame()
		f.watch.of(t.Context()) // a flag that the kernel may raise
		x.fill(f, []*tensor.Tensor{out}, in)
		if err := x.execute(t.Context(), f, in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		left := 0
		for _, v := range out.Float32() {
			if math.IsInf(float64(v), -1) {
				left++
			}
		}
		if n := out.Len(); left < n/4 || left > n*3/4 {
			t.Errorf("%s: %d of %d elements were left when half of the units were", name, left, n)
		}
	}
}

// TestThreads runs models on teams of several sizes at once, more than there are
// processors, and wants the bits of one thread.
func TestThreads(t *testing.T) {
	type task struct {
		name string
		exe  *executable
		in   []*tensor.Tensor
		want []uint32
	}
	var tasks []task
	add := func(name string, g *ir.Graph, in []*tensor.Tensor) {
		want := runOf(t, compileFor(t, g, 1), in)
		for _, threads := range []int{2, 3, 8} {
			x := compileFor(t, g, threads)
			if x.team == nil {
				t.Errorf("%s has no team", name)
			}
			tasks = append(tasks, task{name, x, in, want})
		}
	}
	for name, src := range sharedGraphs {
		g, in := parse(t, src)
		add(name, g, in)
	}
	for _, name := range []string{"mlp_32_128_256", "mlp_64_256_512", "transformer_block_4x24x128"} {
		g, err := suite.Build(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pass.Run(g, pass.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in, err := suite.Inputs(r.Graph, 1)
		if err != nil {
			t.Fatal(err)
		}
		add(name, r.Graph, in)
	}
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for range 8 {
				for _, task := range tasks {
					out, err := task.exe.Run(t.Context(), task.in...)
					if err != nil {
						t.Error(err)
						return
					}
					if !slices.Equal(bits(out), task.want) {
						t.Errorf("%s: other bits", task.name)
						return
					}
				}
			}
		})
	}
	callers.Wait()
}

// sleepers is where struct team of source/c/team.c counts helpers that sleep.
const sleepers = 3 * 64

// TestHelpersSleepAndLeave waits until idle helpers sleep, and until the helpers of
// all teams have left, since nothing refers to any.
func TestHelpersSleepAndLeave(t *testing.T) {
	const size = 5
	g, in := parse(t, sharedGraphs["rows"])
	x := compileFor(t, g, size+1)
	runOf(t, x, in)
	for atomic.LoadInt32((*int32)(unsafe.Add(unsafe.Pointer(nil), x.team.address+sleepers))) != size {
		time.Sleep(time.Millisecond)
	}
	if n := helpers(); n < size {
		t.Errorf("%d goroutines help", n)
	}
	runtime.KeepAlive(x)
	x = nil
	for helpers() > 0 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// helpers counts the goroutines that help in teams.
func helpers() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*teamCode).gather.func1()")
}

// TestOneTeamAtATime runs a program while another has the team.
func TestOneTeamAtATime(t *testing.T) {
	g, in := parse(t, sharedGraphs["rows"])
	x := compileFor(t, g, 2)
	want := runOf(t, x, in)
	working.Store(true)
	x.team = newTeam(t, "") // which would do nothing
	if !slices.Equal(runOf(t, x, in), want) {
		t.Error("a run without the team gives other bits")
	}
	if !working.Swap(false) {
		t.Error("a run without the team has given it back")
	}
}
