package reap

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary runs itself as the process that starts others, because
// Descendants would also end what the go command's test runner needs.
func TestMain(m *testing.M) {
	if os.Getenv("REAP_TEST_CHILD") != "" {
		if err := family(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// family starts a child, a grandchild whose parent has gone and one in a
// session of its own, prints their pids and ends them all.
func family() error {
	if err := Adopt(); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", `
		(sleep 1000 & echo $!)
		setsid sh -c 'echo $$; exec sleep 1000' &
		sh -c 'echo $$; exec sleep 1000' &
		exec sleep 1000`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Println(cmd.Process.Pid)
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			return fmt.Errorf("the children said too little")
		}
		fmt.Println(lines.Text())
	}
	return Descendants()
}

func TestDescendants(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REAP_TEST_CHILD=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pids := strings.Fields(string(out))
	if len(pids) != 4 {
		t.Fatalf("output %q, want four pids", out)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		if p, ok := parseStat(stat); !ok || !p.dead {
			t.Errorf("still there: %s", stat)
			unix.Kill(p.pid, unix.SIGKILL)
		}
	}
}

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		in   string
		want process
		ok   bool
	}{
		{"12 (sh) S 3 12 12", process{pid: 12, parent: 3}, true},
		{"12 (a) R 9 (b) Z 3 1", process{pid: 12, parent: 3, dead: true}, true},
		{"12 () X 3", process{pid: 12, parent: 3, dead: true}, true},
		{"12 (sh S 3", process{}, false},
		{"x (sh) S 3", process{}, false},
		{"12 (sh) S", process{}, false},
		{"12 (sh) S x", process{}, false},
		{"", process{}, false},
		{")(", process{}, false},
	} {
		if got, ok := parseStat([]byte(c.in)); got != c.want || ok != c.ok {
			t.Errorf("parseStat(%q) = %+v, %v; want %+v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) S 3 12 12"))
	f.Add([]byte("12 (a) R 9 (b) Z 3 1"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if p, ok := parseStat(stat); !ok && p != (process{}) {
			t.Fatalf("parseStat(%q) refuses and returns %+v", stat, p)
		}
	})
}

func TestTree(t *testing.T) {
	procs := []process{
		{pid: 2, parent: 1}, {pid: 3, parent: 2, dead: true}, {pid: 4, parent: 3},
		{pid: 5, parent: 9}, {pid: 1, parent: 4}, // a loop made by a reused pid
	}
	if got, want := tree(procs, 1), []int{2, 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("descendants %v, want %v", got, want)
	}
}
