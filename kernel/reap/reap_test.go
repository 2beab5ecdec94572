package reap

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
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
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := proc.Read(n); err == nil && !p.Dead() {
			t.Errorf("still there: %+v", p)
			unix.Kill(n, unix.SIGKILL)
		}
	}
}

func TestTree(t *testing.T) {
	stat := func(pid, parent int, state byte) proc.Stat {
		return proc.Stat{ID: proc.ID{PID: pid}, Parent: parent, State: state}
	}
	procs := []proc.Stat{
		stat(2, 1, 'S'), stat(3, 2, 'Z'), stat(4, 3, 'R'),
		stat(5, 9, 'S'), stat(1, 4, 'S'), // a loop made by a reused pid
	}
	if got, want := tree(procs, 1), []int{2, 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("descendants %v, want %v", got, want)
	}
}
