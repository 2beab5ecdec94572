package standin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// account is whom the tool is logged in as.
const account = "ada"

type kaggle struct {
	Service
	plan Plan
}

func (k *kaggle) run(args []string) error {
	command := strings.Join(args[:min(2, len(args))], " ")
	if command == "--version" {
		version := k.plan.Version
		if version == "" {
			version = "2.2.5"
		}
		fmt.Println("Kaggle CLI", version)
		return nil
	}
	handlers := map[string]struct {
		takes map[string]bool
		run   func(flags map[string]string, rest []string) error
	}{
		"config view":      {nil, k.view},
		"datasets status":  {nil, k.datasetStatus},
		"datasets create":  {map[string]bool{"-p": true, "-q": false}, k.datasetCreate},
		"datasets version": {map[string]bool{"-p": true, "-q": false, "-m": true}, k.datasetVersion},
		"kernels push":     {map[string]bool{"-p": true, "--accelerator": true, "-t": true}, k.push},
		"kernels status":   {nil, k.status},
		"kernels logs":     {map[string]bool{"--follow": false}, k.logs},
		"kernels output":   {map[string]bool{"-p": true, "-o": false, "-q": false}, k.output},
	}
	h, known := handlers[command]
	if !known {
		return usage{fmt.Errorf("invalid choice: %q", command)}
	}
	values, rest, err := flags(args[2:], h.takes)
	if err != nil {
		return err
	}
	return h.run(values, rest)
}

func (k *kaggle) view(_ map[string]string, rest []string) error {
	if len(rest) > 0 {
		return usage{fmt.Errorf("unrecognized arguments: %v", rest)}
	}
	fmt.Printf("Configuration values from /home/ada/.config/kaggle\n- username: %s\n- auth_method: OAUTH\n- path: None\n- proxy: None\n- competition: None\n", account)
	return nil
}

// one is the only argument of a command, the name of something of this account's.
func one(rest []string) (string, error) {
	if len(rest) != 1 {
		return "", usage{fmt.Errorf("one name is needed, not %v", rest)}
	}
	user, name, ok := strings.Cut(rest[0], "/")
	if !ok || user != account || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("403 Client Error: Forbidden for %s", rest[0])
	}
	return name, nil
}

func (k *kaggle) path(parts ...string) string {
	return filepath.Join(append([]string{k.Dir}, parts...)...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// datasetStatus is ready from the second time on that one asks.
func (k *kaggle) datasetStatus(_ map[string]string, rest []string) error {
	name, err := one(rest)
	if err != nil {
		return err
	}
	switch dir := k.path("datasets", name); {
	case !exists(dir):
		return fmt.Errorf("403 Client Error: Forbidden for url: https://api.kaggle.example/datasets/status/%s", name)
	case exists(dir + ".new"):
		fmt.Print("blobs_received")
		return os.Remove(dir + ".new")
	}
	fmt.Print(cmp.Or(k.plan.Dataset, "ready"))
	return nil
}

func (k *kaggle) datasetCreate(values map[string]string, rest []string) error {
	_, name, err := k.readDataset(values["-p"])
	if err != nil || len(rest) > 0 {
		return errors.Join(err, k.none(rest))
	}
	if exists(k.path("datasets", name)) {
		fmt.Printf("Dataset creation error: The requested slug %q is already in use by a dataset. Please choose another slug.\n", name)
		return nil
	}
	return k.take(values["-p"], name)
}

func (k *kaggle) datasetVersion(values map[string]string, rest []string) error {
	_, name, err := k.readDataset(values["-p"])
	switch {
	case err != nil || len(rest) > 0:
		return errors.Join(err, k.none(rest))
	case values["-m"] == "":
		return usage{says("the following arguments are required: -m/--message")}
	case !exists(k.path("datasets", name)):
		return says("404 Client Error: Not Found")
	case k.plan.Stale:
		return nil
	}
	return k.take(values["-p"], name)
}

func (k *kaggle) none(rest []string) error {
	if len(rest) == 0 {
		return nil
	}
	return usage{fmt.Errorf("unrecognized arguments: %v", rest)}
}

// take stores the files of a dataset, without the permission to execute or to write.
func (k *kaggle) take(from, name string) error {
	dir := k.path("datasets", name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "dataset-metadata.json" {
			continue
		}
		path := filepath.Join(from, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file: folders are skipped without --dir-mode", path)
		}
		if err := copyFile(path, filepath.Join(dir, e.Name()), 0o444); err != nil {
			return err
		}
	}
	return os.WriteFile(dir+".new", nil, 0o644)
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (k *kaggle) push(values map[string]string, rest []string) error {
	m, name, err := k.readKernel(values["-p"], values["--accelerator"])
	if err != nil || len(rest) > 0 {
		return errors.Join(err, k.none(rest))
	}
	if t, given := values["-t"]; given {
		if n, err := strconv.Atoi(t); err != nil || n <= 0 {
			return usage{fmt.Errorf("argument -t/--timeout: invalid int value: %q", t)}
		}
	}
	if k.plan.Push != "" {
		fmt.Println("Kernel push error:", k.plan.Push)
		return nil
	}
	job := hostJob{Kind: "kaggle", Inputs: map[string]string{}, Output: k.path("kernels", name, "working"), GPUs: k.plan.GPUs}
	for _, source := range m.DatasetSources {
		slug, err := one([]string{source})
		if err != nil || !exists(k.path("datasets", slug)) || k.plan.Detach {
			fmt.Printf("The following are not valid dataset sources and could not be added to the kernel: ['%s']\n", source)
			continue
		}
		job.Inputs[slug] = k.path("datasets", slug)
	}
	dir := k.path("kernels", name)
	if err := errors.Join(k.keep(name), os.MkdirAll(job.Output, 0o755)); err != nil {
		return err
	}
	job.Script = filepath.Join(dir, "script.py")
	if err := copyFile(filepath.Join(values["-p"], m.CodeFile), job.Script, 0o644); err != nil {
		return err
	}
	if err := k.setStatus(name, "QUEUED"); err != nil {
		return err
	}
	if err := k.launch(name, job); err != nil {
		return err
	}
	fmt.Printf("Kernel version 1 successfully pushed.  Please check progress at https://www.kaggle.example/code/%s/%s\n", account, name)
	return nil
}

// before is the suffix of the version of a kernel before the one that was pushed last.
const before = ".before"

// keep keeps the version that there is, in place of the one before it.
func (k *kaggle) keep(name string) error {
	dir := k.path("kernels", name)
	if err := errors.Join(os.RemoveAll(dir+before), os.RemoveAll(k.path("told"))); err != nil || !exists(dir) {
		return err
	}
	return os.Rename(dir, dir+before)
}

// version is the folder of the version that the service knows of.
func (k *kaggle) version(name string) string {
	told, _ := os.ReadFile(k.path("told"))
	if dir := k.path("kernels", name+before); exists(dir) && len(told) <= k.plan.Late {
		return dir
	}
	return k.path("kernels", name)
}

func (s Service) setStatus(kernel, status string) error {
	path := filepath.Join(s.Dir, "kernels", kernel, "status")
	return errors.Join(os.WriteFile(path+".new", []byte(status), 0o644), os.Rename(path+".new", path))
}

func (k *kaggle) statusOf(name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(k.version(name), "status"))
	if err != nil {
		return "", says("Cannot access kernel '%s/%s' (Permission 'kernels.get' was denied).", account, name)
	}
	return string(raw), nil
}

func (k *kaggle) status(_ map[string]string, rest []string) error {
	name, err := one(rest)
	if err != nil {
		return err
	}
	k.count("told")
	status, err := k.statusOf(name)
	if err != nil {
		return err
	}
	if asked := k.count("asked"); asked <= k.plan.Deaf {
		return says("502 Server Error: Bad Gateway for url: https://api.kaggle.example/kernels/status")
	}
	fmt.Printf("%s/%s has status \"KernelWorkerStatus.%s\"\n", account, name, cmp.Or(k.plan.Status, status))
	if status == "ERROR" && k.plan.Kernel != "" {
		fmt.Printf("Failure message: %q\n", k.plan.Kernel)
	}
	return nil
}

// count counts how often it was called for a name.
func (k *kaggle) count(name string) int {
	f, err := os.OpenFile(k.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 0
	}
	defer f.Close()
	f.WriteString(".")
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// logs prints the log from its beginning, as the service sends it, until the job ends.
func (k *kaggle) logs(values map[string]string, rest []string) error {
	name, err := one(rest)
	if err != nil {
		return err
	}
	if values["--follow"] == "" {
		return says("without --follow a log is JSON")
	}
	breaks := k.plan.Break > 0 && !exists(k.path("broken"))
	for sent := 0; ; {
		status, err := k.statusOf(name)
		if err != nil {
			return err
		}
		if status == "QUEUED" {
			return says("404 Client Error: Not Found for url: https://api.kaggle.example/kernels/logs/stream")
		}
		raw, _ := os.ReadFile(filepath.Join(k.version(name), "log"))
		for line := range strings.Lines(string(raw[sent:])) {
			if !strings.HasSuffix(line, "\n") {
				break
			}
			fmt.Print(line)
			sent += len(line)
			if breaks && strings.Count(string(raw[:sent]), "\n") == k.plan.Break {
				fmt.Fprintln(os.Stderr, "Log stream connection failed 5 times with no new data; giving up.")
				return os.WriteFile(k.path("broken"), nil, 0o644)
			}
		}
		if status != "RUNNING" {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (k *kaggle) output(values map[string]string, rest []string) error {
	name, err := one(rest)
	if err != nil {
		return err
	}
	if values["-p"] == "" || values["-o"] == "" {
		return usage{says("where to, and whether over what is there, is not said")}
	}
	working := filepath.Join(k.version(name), "working")
	sent := 0
	return filepath.WalkDir(working, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() { // links do not come back
			return err
		}
		if sent++; sent > 1 && k.plan.Part {
			return says("Connection aborted.")
		}
		to := filepath.Join(values["-p"], strings.TrimPrefix(path, working))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), copyFile(path, to, 0o644))
	})
}
