package standin

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type colab struct {
	Service
	plan Plan
}

func (c *colab) run(args []string) error {
	if len(args) == 1 && args[0] == "version" {
		version := c.plan.Version
		if version == "" {
			version = "0.7.5"
		}
		fmt.Println("Version:", version)
		return nil
	}
	handlers := map[string]struct {
		takes map[string]bool
		rest  int
		run   func(root string, flags map[string]string, rest []string) error
	}{
		"new":      {map[string]bool{"-s": true, "--gpu": true}, 0, c.new},
		"exec":     {map[string]bool{"-s": true, "-f": true, "--timeout": true}, 0, c.exec},
		"upload":   {map[string]bool{"-s": true}, 2, c.upload},
		"download": {map[string]bool{"-s": true}, 2, c.download},
		"stop":     {map[string]bool{"-s": true}, 0, c.stop},
	}
	if len(args) == 0 || handlers[args[0]].run == nil {
		return usage{says("No such command %q.", args)}
	}
	h := handlers[args[0]]
	values, rest, err := flags(args[1:], h.takes)
	if err != nil {
		return err
	}
	if len(rest) != h.rest || values["-s"] == "" {
		return usage{fmt.Errorf("%s takes a session and %d arguments, not %v", args[0], h.rest, rest)}
	}
	root := filepath.Join(c.Dir, "sessions", values["-s"])
	if args[0] != "new" && !exists(root) {
		if args[0] == "stop" { // which is no error of the tool's
			fmt.Printf("[colab] Session '%s' not found.\n", values["-s"])
			return nil
		}
		return says("[colab] Session '%s' appears to be lost (404/401). Cleaning up.", values["-s"])
	}
	return h.run(root, values, rest)
}

func (c *colab) new(root string, values map[string]string, _ []string) error {
	if gpu, given := values["--gpu"]; given && !slices.Contains([]string{"T4", "L4", "G4", "H100", "A100"}, gpu) {
		return fmt.Errorf("the tool would take an A100 for %q", gpu)
	}
	if c.plan.New != "" {
		return says("%s", c.plan.New)
	}
	return os.MkdirAll(filepath.Join(root, "content"), 0o755)
}

// exec executes a script in the session's Python. What the script does wrong is printed;
// the tool ends with status 0.
func (c *colab) exec(root string, values map[string]string, _ []string) error {
	if t, given := values["--timeout"]; given {
		if f, err := strconv.ParseFloat(t, 64); err != nil || f <= 0 {
			return usage{says("Invalid value for '--timeout': %q", t)}
		}
	}
	if !exists(values["-f"]) {
		return says("[Errno 2] No such file or directory: %q", values["-f"])
	}
	if c.plan.Hang && filepath.Base(values["-f"]) == "bootstrap.py" {
		return c.hang()
	}
	script := filepath.Join(root, "content", ".script.py")
	if err := copyFile(values["-f"], script, 0o644); err != nil {
		return err
	}
	defer os.Remove(script)
	return c.inside(hostJob{Kind: "colab", Script: script, Output: filepath.Join(root, "content"), GPUs: c.plan.GPUs})
}

// hang waits to be interrupted, which the tool survives without a status.
func (c *colab) hang() error {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT)
	fmt.Println("forge job: running for 20 s")
	select {
	case <-interrupted:
		return says("Aborted.")
	case <-time.After(3 * time.Minute):
		return says("nobody interrupts")
	}
}

// at is a path of the session, which is relative to its root; folders must be there.
func at(root, path string) (string, error) {
	if !filepath.IsLocal(path) || !strings.HasPrefix(path, "content/") {
		return "", says("[colab] %q is not below content", path)
	}
	return filepath.Join(root, path), nil
}

func (c *colab) upload(root string, _ map[string]string, rest []string) error {
	to, err := at(root, rest[1])
	switch {
	case err != nil:
		return err
	case !exists(rest[0]):
		return says("[colab] Local file '%s' not found.", rest[0])
	case !exists(filepath.Dir(to)):
		return says("[colab] Upload failed: File or directory not found: %s", rest[1])
	case filepath.Base(rest[0]) == c.plan.Upload:
		return says("[colab] Upload failed: 500 Server Error")
	}
	return copyFile(rest[0], to, 0o644)
}

func (c *colab) download(root string, _ map[string]string, rest []string) error {
	from, err := at(root, rest[0])
	if err != nil {
		return err
	}
	if !exists(from) {
		return says("[colab] Download failed: File or directory not found: %s", rest[0])
	}
	return copyFile(from, rest[1], 0o644)
}

func (c *colab) stop(root string, values map[string]string, _ []string) error {
	if c.plan.Stop != "" {
		return says("%s", c.plan.Stop)
	}
	fmt.Printf("[colab] Session terminated.\n")
	return os.Rename(root, root+".stopped")
}

// Stopped tells whether a session was, and none runs.
func (s Service) Stopped(session string) bool {
	root := filepath.Join(s.Dir, "sessions", session)
	return exists(root+".stopped") && !exists(root)
}
