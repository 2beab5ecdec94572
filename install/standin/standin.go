// Package standin plays the command-line tools of Kaggle and Colab, and the hosts behind
// them, for tests: no test reaches the services themselves.
//
// A test program that calls [Run] becomes the tool "kaggle" or "colab" when it is started
// under that name; [Install] puts the names on PATH. The stand-ins take the arguments of
// kaggle 2.2 and google-colab-cli 0.7 that this project uses and refuse all others, check
// metadata and files as the tools do and more strictly, and fail as they fail: often with
// status 0. A job is really executed, on a host that is laid out like the service's: see
// host.go.
//
// What the services know lies below a folder, which is also how a test looks at them and
// has them fail ([Plan]).
package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Plan is what a service will do wrong, and what its machines are.
type Plan struct {
	Version string   // of the tool; empty for one that is new enough
	GPUs    []string // the names of a machine's
	Push    string   // the error of a push
	Detach  bool     // a push does not attach the dataset
	Stale   bool     // machines still have the first version of a dataset
	Hold    bool     // a job waits for the file "go" in the folder of the service
	Break   int      // so many lines into a log, it breaks off, the first time
	Deaf    int      // so many times the service does not tell the status of a job
	Late    int      // so many times the status after a push is still that of the version before
	Kernel  string   // the message with which the service ends a job before its script
	Status  string   // of every job, in place of the real one
	Dataset string   // the status of every dataset, in place of the real one
	Part    bool     // only some of what a job wrote comes back, and the tool fails
	New     string   // the error of a new session
	Upload  string   // the name of the file whose upload fails
	Hang    bool     // an execution in a session does not end by itself
	Stop    string   // the error of a stop
}

// folderVariable names the folder of the services.
const folderVariable = "FORGE_STANDIN"

// Service is the folder of a test's services.
type Service struct{ Dir string }

// Install puts the tools on PATH, as links to this program, until the test ends.
func Install(t *testing.T, plan Plan) Service {
	t.Helper()
	s := Service{t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(s.Dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.Symlink(self, filepath.Join(bin, "kaggle")), os.Symlink(self, filepath.Join(bin, "colab")), s.write("plan.json", plan)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(folderVariable, s.Dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Cleanup(func() { s.end(t) })
	return s
}

// Calls are the commands that the tools got, as one would type them.
func (s Service) Calls() []string {
	raw, _ := os.ReadFile(filepath.Join(s.Dir, "calls"))
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// Go lets a job that is held go on.
func (s Service) Go() error { return os.WriteFile(filepath.Join(s.Dir, "go"), nil, 0o644) }

// Run becomes a tool, or a part of a host, when the program was started as one.
func Run() {
	var status int
	switch name := filepath.Base(os.Args[0]); name {
	case "kaggle", "colab":
		status = run(name, os.Args[1:])
	case supervisorName:
		status = supervise(os.Args[1])
	case hostName:
		status = enter(os.Args[1])
	default:
		return
	}
	os.Exit(status)
}

func run(name string, args []string) int {
	s := Service{os.Getenv(folderVariable)}
	var plan Plan
	err := s.record(name, args)
	if err == nil {
		err = s.read("plan.json", &plan)
	}
	if err == nil && name == "kaggle" {
		err = (&kaggle{s, plan}).run(args)
	} else if err == nil {
		err = (&colab{s, plan}).run(args)
	}
	var wrong usage
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintf(os.Stderr, "usage: %s\n%s: error: %v\n", name, name, err)
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (s Service) record(name string, args []string) error {
	f, err := os.OpenFile(filepath.Join(s.Dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, name, strings.Join(args, " "))
	return errors.Join(err, f.Close())
}

func (s Service) write(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, name), raw, 0o644)
}

func (s Service) read(name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// says is an error in the words of a tool or a service, which are not ours.
func says(format string, args ...any) error { return words(fmt.Sprintf(format, args...)) }

type words string

func (w words) Error() string { return string(w) }

// usage is a command line that the tool does not take.
type usage struct{ error }

// flags reads the arguments of a command: takes says which flags have a value. Every
// other argument that begins with a dash is refused.
func flags(args []string, takes map[string]bool) (values map[string]string, rest []string, err error) {
	values = map[string]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") {
			rest = append(rest, a)
			continue
		}
		value, known := takes[a]
		switch {
		case !known:
			return nil, nil, usage{fmt.Errorf("unrecognized arguments: %s", a)}
		case value && i+1 == len(args):
			return nil, nil, usage{fmt.Errorf("argument %s: expected one argument", a)}
		case value:
			i++
			values[a] = args[i]
		default:
			values[a] = "yes"
		}
	}
	return values, rest, nil
}
