package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ranks are the configurations of a job; across says that each is on another host.
func ranks(t testing.TB, n int, across bool) []Config {
	list := make([]Config, n)
	for i := range list {
		list[i] = Config{Job: fmt.Sprintf("%s/%d", t.Name(), os.Getpid()), Token: []byte("secret"), Epoch: 3, Rank: i, Size: n,
			Digest: []byte{1, 2}, Logf: t.Logf}
		if across {
			list[i].Address, list[i].Host = "127.0.0.1", fmt.Sprint("host", i)
		}
	}
	return list
}

// enough bounds what must happen; tests that pass do not wait for it.
const enough = 5 * time.Minute

// join brings all to the rendezvous. Meshes that come about are closed in the end.
func join(t testing.TB, list []Config, limit time.Duration) ([]*Mesh, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	meshes, errs := make([]*Mesh, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		wg.Go(func() { meshes[i], errs[i] = Join(ctx, c) })
	}
	wg.Wait()
	t.Cleanup(func() {
		for _, m := range meshes {
			if m != nil {
				m.Close()
			}
		}
	})
	return meshes, errs
}

func mustJoin(t testing.TB, list []Config) []*Mesh {
	t.Helper()
	meshes, errs := join(t, list, enough)
	for i, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", i, err)
		}
	}
	return meshes
}

// both runs a test on one host and across hosts.
func both(t *testing.T, test func(t *testing.T, across bool)) {
	t.Run("host", func(t *testing.T) { test(t, false) })
	t.Run("hosts", func(t *testing.T) { test(t, true) })
}

// echo sends a text one way and expects it at the other end.
func echo(from, to *Stream, text string) error {
	if _, err := io.WriteString(from, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("%q came as %q", text, got)
	}
	return nil
}

// pair is both ends of a new stream.
func pair(t testing.TB, a, b *Mesh, purpose string) (*Stream, *Stream) {
	t.Helper()
	var here, there *Stream
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { here, errs[0] = a.Stream(t.Context(), b.Rank(), purpose) })
	wg.Go(func() { there, errs[1] = b.Stream(t.Context(), a.Rank(), purpose) })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return here, there
}

func TestJoin(t *testing.T) {
	both(t, func(t *testing.T, across bool) {
		meshes := mustJoin(t, ranks(t, 4, across))
		for i, m := range meshes {
			if m.Rank() != i || m.Size() != 4 || m.Epoch() != 3 {
				t.Errorf("rank %d is %d of %d in epoch %d", i, m.Rank(), m.Size(), m.Epoch())
			}
			for j := range meshes {
				if p := m.Peer(j); p.Rank != j || p.Shared != (!across || i == j) || across != (p.Address != "") {
					t.Errorf("rank %d knows of rank %d: %+v", i, j, p)
				}
			}
			if i == 0 {
				continue
			}
			if err := echo(meshes[0].Command(i), m.Command(0), "step"); err != nil {
				t.Error(err)
			}
			if err := echo(m.Command(0), meshes[0].Command(i), "done"); err != nil {
				t.Error(err)
			}
			for j := range i {
				for _, purpose := range []string{"data", "more"} {
					a, b := pair(t, m, meshes[j], purpose)
					if err := errors.Join(echo(a, b, "up"), echo(b, a, "down")); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}

// Two ranks of each of two hosts: unix sockets within a host, TCP between them.
func TestMixedHosts(t *testing.T) {
	list := ranks(t, 4, true)
	for i := range list {
		list[i].Host = fmt.Sprint("host", i/2)
	}
	meshes := mustJoin(t, list)
	for i, m := range meshes {
		for j := range i {
			a, _ := pair(t, m, meshes[j], "data")
			_, unixSocket := a.Conn.(*net.UnixConn)
			if same := i/2 == j/2; unixSocket != same || m.Peer(j).Shared != same {
				t.Errorf("ranks %d and %d: unix socket %v, shared %v", i, j, unixSocket, m.Peer(j).Shared)
			}
		}
	}
}

func TestAlone(t *testing.T) {
	m := mustJoin(t, ranks(t, 1, false))[0]
	if m.Size() != 1 || m.Command(0) != nil || !m.Peer(0).Shared {
		t.Errorf("%+v", m)
	}
}

func TestConfigurations(t *testing.T) {
	good := Config{Job: "j", Size: 2}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Job = "" }, "mesh: the name of a job has 1 to 256 bytes, not 0"},
		{func(c *Config) { c.Job = strings.Repeat("x", 257) }, "mesh: the name of a job has 1 to 256 bytes, not 257"},
		{func(c *Config) { c.Size = 0 }, "mesh: a job has 1 to 4096 ranks, not 0"},
		{func(c *Config) { c.Rank = 2 }, "mesh: there is no rank 2 in a job of 2"},
		{func(c *Config) { c.Rank = -1 }, "mesh: there is no rank -1 in a job of 2"},
		{func(c *Config) { c.Digest = make([]byte, 65) }, "mesh: a program's digest has at most 64 bytes, not 65"},
		{func(c *Config) { c.Host = strings.Repeat("x", 257) }, "mesh: the identity of a host has at most 256 bytes, not 257"},
	} {
		config := good
		c.change(&config)
		if _, err := Join(t.Context(), config); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Ranks that know the token but do not fit: everyone learns why.
func TestDisagreement(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"program", func(c *Config) { c.Digest = []byte{9} }, "mesh: ranks 0 and 2 run different programs: 0102 and 09"},
		{"size", func(c *Config) { c.Size = 5 }, "mesh: rank 2 is of a job of 5 ranks, rank 0 of one of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := ranks(t, 3, false)
			c.change(&list[2])
			ctx, cancel := context.WithCancel(t.Context())
			errs := make([]error, len(list))
			var told, late sync.WaitGroup
			for i, group := range []*sync.WaitGroup{&told, &late, &told} {
				group.Go(func() { _, errs[i] = Join(ctx, list[i]) })
			}
			told.Wait()
			cancel()
			late.Wait()
			for i, err := range errs {
				// Rank 1 may still be on its way when rank 0 has left.
				if i == 1 && (errors.As(err, new(*Lost)) || errors.Is(err, context.Canceled)) {
					continue
				}
				if err == nil || err.Error() != c.want {
					t.Errorf("rank %d: %v, want %s", i, err, c.want)
				}
			}
		})
	}
}

func TestMissingRanks(t *testing.T) {
	both(t, func(t *testing.T, across bool) {
		var list []Config
		var zero, two error
		// On a busy machine rank 2 may not have come in time: then again, with more.
		for limit := 200 * time.Millisecond; ; limit *= 2 {
			list = ranks(t, 4, across)
			first, cancel := context.WithTimeout(t.Context(), limit)
			second, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _, two = Join(second, list[2]) })
			_, zero = Join(first, list[0])
			cancel()
			var missing *Missing
			late := errors.As(zero, &missing) && slices.Contains(missing.Ranks, 2)
			if late {
				stop()
			}
			wg.Wait()
			stop()
			if !late {
				break
			}
		}
		want := fmt.Sprintf("mesh: rendezvous of job %q, epoch 3: ranks did not come: 1, 3: context deadline exceeded", list[0].Job)
		for i, err := range []error{zero, two} {
			if err == nil || err.Error() != want {
				t.Errorf("rank %d: %v, want %s", 2*i, err, want)
			}
		}
		if !errors.Is(zero, context.DeadlineExceeded) {
			t.Errorf("%v is not the context's", zero)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := Join(ctx, list[1])
		if want := fmt.Sprintf("mesh: rendezvous of job %q, epoch 3: ranks did not come: 0: context deadline exceeded: ", list[1].Job); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	})
}

// A rank that comes and dies before all have come: the others do not begin.
func TestDeathDuringRendezvous(t *testing.T) {
	list := ranks(t, 3, false)
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	errs := make([]error, 3)
	var wg sync.WaitGroup
	wg.Go(func() { _, errs[0] = Join(ctx, list[0]) })
	dying := &Mesh{config: list[1]}
	c, err := dying.find(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	wg.Go(func() { _, errs[2] = Join(ctx, list[2]) })
	wg.Wait()
	for _, rank := range []int{0, 2} {
		want := `rank 1 has ended stream "command"`
		if err := errs[rank]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rank %d: %v, want %s", rank, err, want)
		}
	}
}

// What comes to the door and is not of the job harms nobody.
func TestStrangers(t *testing.T) {
	both(t, func(t *testing.T, across bool) {
		list := ranks(t, 2, across)
		network, address := "unix", socketName(list[0].Job, 3, 0)
		if across {
			network, address = "tcp", fmt.Sprint("127.0.0.1:", ports(list[0].Job, 3, 0)[0])
		}
		other := func(change func(*Config)) func(*testing.T) {
			return func(t *testing.T) {
				c := list[1]
				change(&c)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				m, err := Join(ctx, c)
				if err == nil {
					m.Close()
					t.Error("it joined")
				}
			}
		}
		knock := func(text string, hangUp bool) func(*testing.T) {
			return func(t *testing.T) {
				c, err := net.Dial(network, address)
				if err != nil {
					t.Fatal(err)
				}
				if hangUp {
					defer c.Close()
				} else {
					t.Cleanup(func() { c.Close() })
				}
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), enough)
		defer cancel()
		meshes := make([]*Mesh, 2)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		wg.Go(func() { meshes[0], errs[0] = Join(ctx, list[0]) })
		for { // until the door is there
			if c, err := net.Dial(network, address); err == nil {
				c.Close()
				break
			}
			time.Sleep(time.Millisecond)
		}
		t.Run("half", knock(magic+"\xff\x00\x00\x00abc", false)) // stays, and says no more
		t.Run("gone", knock(magic, true))
		t.Run("silent", knock("", false))
		t.Run("web", knock("GET / HTTP/1.1\r\n\r\n", true))
		t.Run("huge", knock(magic+"\xff\xff\xff\xff", true))
		t.Run("garbage", knock(magic+"\x05\x00\x00\x00abcde", true))
		t.Run("token", other(func(c *Config) { c.Token = []byte("guess") }))
		wg.Go(func() { meshes[1], errs[1] = Join(ctx, list[1]) })
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		defer meshes[0].Close()
		defer meshes[1].Close()
		t.Run("late", other(func(*Config) {}))
		a, b := pair(t, meshes[0], meshes[1], "data")
		if err := echo(a, b, "still here"); err != nil {
			t.Error(err)
		}
	})
}

// Of two epochs of a job each keeps to its own.
func TestEpochs(t *testing.T) {
	both(t, func(t *testing.T, across bool) {
		old, now := ranks(t, 2, across), ranks(t, 2, across)
		for i := range now {
			now[i].Epoch++
		}
		meshes := mustJoin(t, []Config{old[0], old[1], now[0], now[1]})
		for i := range 2 {
			if err := echo(meshes[2*i].Command(1), meshes[2*i+1].Command(0), "ours"); err != nil {
				t.Error(err)
			}
		}
		// A rank of the old epoch that comes upon the address of the new one.
		network, address := "unix", socketName(now[0].Job, now[0].Epoch, 0)
		if across {
			network, address = "tcp", meshes[2].peers[0].Address
		}
		if _, err := meshes[1].dial(t.Context(), network, address, 0, "data"); !errors.Is(err, errStranger) {
			t.Errorf("a rank of an earlier epoch gets %v, want %v", err, errStranger)
		}
	})
}

// A port that is taken is passed by.
func TestPortTaken(t *testing.T) {
	list := ranks(t, 2, true)
	for _, port := range ports(list[0].Job, 3, 0)[:2] {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			t.Skip("the port is taken by someone else: ", err)
		}
		defer l.Close()
		go func() { // someone who answers with something else
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(c, "220 mail ready\r\n")
				c.Close()
			}
		}()
	}
	meshes := mustJoin(t, list)
	if err := echo(meshes[0].Command(1), meshes[1].Command(0), "found"); err != nil {
		t.Error(err)
	}
}

func TestPorts(t *testing.T) {
	for rank := range 200 {
		seen := map[int]bool{}
		for _, p := range ports("job", 1, rank) {
			if p < 20000 || p > 32000 || seen[p] {
				t.Errorf("rank %d may use port %d", rank, p)
			}
			seen[p] = true
		}
	}
}

func TestSecondProcessOfARank(t *testing.T) {
	list := ranks(t, 2, false)
	mustJoin(t, list)
	_, err := Join(t.Context(), list[0])
	if want := fmt.Sprintf("mesh: another process is rank 0 of job %q in epoch 3", list[0].Job); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestLost(t *testing.T) {
	both(t, func(t *testing.T, across bool) {
		meshes := mustJoin(t, ranks(t, 3, across))
		a, _ := pair(t, meshes[1], meshes[2], "data")
		if err := meshes[2].Close(); err != nil {
			t.Error(err)
		}
		for _, s := range []*Stream{a, meshes[0].Command(2)} {
			var lost *Lost
			if _, err := s.Read(make([]byte, 1)); !errors.As(err, &lost) || lost.Rank != 2 || lost.Purpose != s.Purpose {
				t.Errorf("the end of rank 2 is %v", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := meshes[0].Stream(ctx, 2, "later"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stream to a closed rank: %v", err)
		}
	})
}

func TestFiles(t *testing.T) {
	meshes := mustJoin(t, ranks(t, 2, false))
	a, b := pair(t, meshes[0], meshes[1], "data")
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "test")
	defer f.Close()
	if _, err := f.WriteString("shared"); err != nil {
		t.Fatal(err)
	}
	if err := a.SendFile(f); err != nil {
		t.Fatal(err)
	}
	if err := echo(a, b, ""); err != nil {
		t.Fatal(err)
	}
	got, err := b.ReceiveFile()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	text := make([]byte, 6)
	if _, err := got.ReadAt(text, 0); err != nil || !bytes.Equal(text, []byte("shared")) {
		t.Errorf("the file has %q, %v", text, err)
	}
	if _, err := io.WriteString(a, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReceiveFile(); err == nil || err.Error() != "mesh: rank 0 sent 0 files where one is expected" {
		t.Errorf("a byte without a file: %v", err)
	}
	before := opened(t, "/memfd:test")
	if _, _, err := a.Conn.(*net.UnixConn).WriteMsgUnix([]byte{0}, unix.UnixRights(fd, fd), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReceiveFile(); err == nil || err.Error() != "mesh: rank 0 sent 2 files where one is expected" {
		t.Errorf("two files: %v", err)
	}
	if after := opened(t, "/memfd:test"); after != before {
		t.Errorf("%d descriptors of the file were open, %d are", before, after)
	}
}

// opened counts the descriptors of this process that are of files of some name.
func opened(t *testing.T, name string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, name) {
			n++
		}
	}
	return n
}

func TestStreamArguments(t *testing.T) {
	m := mustJoin(t, ranks(t, 2, false))[0]
	for _, peer := range []int{-1, 0, 2} {
		if _, err := m.Stream(t.Context(), peer, "data"); err == nil {
			t.Errorf("a stream to rank %d", peer)
		}
	}
	for _, purpose := range []string{"", command, strings.Repeat("x", 300)} {
		if _, err := m.Stream(t.Context(), 1, purpose); err == nil {
			t.Errorf("a stream for %q", purpose)
		}
	}
}
