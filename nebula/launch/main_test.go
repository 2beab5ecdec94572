package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/mesh"
	"forgekernel/nebula/proc"
)

// The test binary is also the ranks, and the parents that are killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "rank" {
		rankMain(os.Args[2])
	}
	if len(os.Args) > 2 && os.Args[1] == "parent" {
		parentMain(os.Args[2], os.Args[3:])
	}
	os.Exit(m.Run())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// hello is what a rank of these tests says first.
const hello = FirstKind

// said is what it says.
type said struct {
	Job     Job
	Dir     string
	Token   string
	Payload string
	PID     int
	Group   int
	Files   int // open descriptors
}

// rankMain is a rank that behaves as told.
func rankMain(how string) {
	switch how {
	case "deaf": // takes no assignment
		select {}
	case "late": // hears that it is to stop, and does not
		stopTime = 20 * time.Millisecond
	}
	r, err := Attach()
	if err != nil {
		fail(err)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		fail(err)
	}
	if r.Started() {
		body, _ := json.Marshal(said{r.Job, r.Dir, r.Token, string(r.Payload), os.Getpid(), syscall.Getpgrp(), len(entries)})
		if err := r.Send(r.Context(), Frame{hello, body}); err != nil {
			fail(err)
		}
	}
	switch how {
	case "wait":
		<-r.Context().Done()
		fmt.Println("stopped:", context.Cause(r.Context()))
		if !errors.Is(context.Cause(r.Context()), ErrStopped) {
			os.Exit(4)
		}
	case "echo":
		for {
			f, err := r.Recv(r.Context())
			if err != nil {
				os.Exit(0)
			}
			if err := r.Send(r.Context(), f); err != nil {
				fail(err)
			}
		}
	case "stubborn": // hears neither STOP nor SIGTERM
		signal.Ignore(syscall.SIGTERM)
		select {}
	case "panic":
		panic("a rank's own mistake")
	case "status 3":
		fmt.Fprintln(os.Stderr, "cannot read the model")
		os.Exit(3)
	case "chatty": // prints more than any log holds
		line := strings.Repeat("x", 1023) + "\n"
		for range 2 * LogSize / len(line) {
			fmt.Print(line)
		}
		fmt.Println("last words")
		os.Exit(5)
	case "garbage":
		r.channel.file.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		<-r.Context().Done()
	case "late":
		fmt.Println("attached")
		sleepInC()
	case "polite":
		fmt.Println("attached")
		<-r.Context().Done()
	case "compute": // one thread in C, one in a loop, and only one processor for both
		runtime.GOMAXPROCS(1)
		go sleepInC()
		for n := 0; ; n++ {
		}
	case "last fails": // and all others wait to be stopped
		if r.Job.Rank == r.Job.Size-1 {
			os.Exit(3)
		}
		<-r.Context().Done()
		os.Exit(0)
	case "place": // and the sum of all places, for which the ranks must meet
		sum, err := sumOfPlaces(r)
		if err != nil {
			fail(err)
		}
		fmt.Printf("place %d/%d local %d/%d job %s sum %g\n", r.Job.Rank, r.Job.Size, r.Job.LocalRank, r.Job.LocalSize, r.Job.ID, sum)
	default:
		fail(fmt.Errorf("no behaviour %q", how))
	}
	os.Exit(0)
}

// sumOfPlaces is a sum over all ranks of what each adds: one more than its number.
func sumOfPlaces(r *Rank) (float64, error) {
	host, err := r.Job.Host()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	m, err := mesh.Join(ctx, mesh.Config{Job: r.Job.ID, Token: []byte(r.Token), Epoch: r.Job.Epoch, Rank: r.Job.Rank, Size: r.Job.Size, Address: host})
	if err != nil {
		return 0, err
	}
	defer m.Close()
	world, err := collective.Over(m, collective.Options{})
	if err != nil {
		return 0, err
	}
	defer world.Close()
	t, err := tensor.Zeros(tensor.F32, 1)
	if err != nil {
		return 0, err
	}
	t.Set(float64(r.Job.Rank+1), 0)
	if err := world.AllReduce(ctx, backend.Sum, t); err != nil {
		return 0, err
	}
	return t.At(0), world.Barrier(ctx)
}

func sleepInC() {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	if err != nil {
		fail(err)
	}
	sleep, err := purego.Dlsym(libc, "sleep")
	if err != nil {
		fail(err)
	}
	for {
		purego.SyscallN(sleep, 1000)
	}
}

// parentMain starts ranks, prints their processes and waits to be killed; with a
// limit on the size of files, it waits for the end of the first and prints that.
func parentMain(how string, args []string) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		fail(err)
	}
	if len(args) > 1 {
		limit, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			fail(err)
		}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			fail(err)
		}
	}
	r, err := Start(context.Background(), Spec{Ranks: n, Command: []string{"rank", how}})
	if err != nil {
		fail(err)
	}
	for i := range n {
		if _, err := r.Channel(i).Recv(); err != nil {
			fail(err)
		}
		id := r.Process(i)
		fmt.Println(id.PID, id.Start)
	}
	if len(args) > 1 {
		fmt.Println((<-r.Exits()).Error())
		info, err := os.Stat(filepath.Join(r.Dir(), logName(0)))
		if err != nil {
			fail(err)
		}
		fmt.Println("log", info.Size())
		if err := r.Close(context.Background()); err != nil {
			fail(err)
		}
		os.Exit(0)
	}
	select {}
}

// patience bounds what must happen; tests that pass do not wait for it.
const patience = 5 * time.Minute

// folder gives the test records of its own.
func folder(t *testing.T) Folder {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	f, err := OpenFolder()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// start starts ranks that are closed with the test, and hears each say hello.
func start(t *testing.T, n int, how string, change ...func(*Spec)) (*Ranks, []said) {
	t.Helper()
	spec := Spec{Ranks: n, Command: []string{"rank", how}, Grace: 20 * time.Millisecond}
	for _, c := range change {
		c(&spec)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for i := range n {
			if r.Process(i).Alive() {
				t.Errorf("rank %d is still there", i)
			}
		}
		if _, err := os.Stat(r.Dir()); err == nil {
			t.Errorf("%s is still there", r.Dir())
		}
	})
	all := make([]said, n)
	for i := range n {
		f, err := r.Channel(i).Recv()
		if err != nil {
			t.Fatalf("rank %d: %v: %s", i, err, r.Output(i))
		}
		if err := json.Unmarshal(f.Body, &all[i]); err != nil || f.Kind != hello {
			t.Fatalf("rank %d says %q: %v", i, f.Body, err)
		}
	}
	return r, all
}

// next is the next exit.
func next(t *testing.T, r *Ranks) Exit {
	t.Helper()
	select {
	case e, ok := <-r.Exits():
		if !ok {
			t.Fatal("all ranks had ended before")
		}
		return e
	case <-time.After(patience):
		t.Fatal("no rank ended")
	}
	return Exit{}
}

func waitUntilGone(t *testing.T, id proc.ID) {
	t.Helper()
	for deadline := time.Now().Add(patience); id.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(id.PID, syscall.SIGKILL)
			t.Fatalf("process %d is still there", id.PID)
		}
	}
}
