package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"forgekernel/forge/backend/cuda/preflight"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/proc"
)

var update = flag.Bool("update", false, "write the golden files anew")

// file is a regular file of a made-up host; link a symbolic link.
func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

// hostOf is a host on which nothing is amiss, with the changes that a test makes.
func hostOf(t *testing.T, change ...func(*made)) *Host {
	t.Helper()
	m := &made{
		files: fstest.MapFS{
			"etc/os-release":                          file("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
			"proc/sys/kernel/osrelease":               file("6.1.0\n"),
			"proc/cpuinfo":                            file("processor : 0\nmodel name\t: Xeon 8000\n"),
			"proc/loadavg":                            file("0.50 0.40 0.30 1/100 4242\n"),
			"proc/meminfo":                            file("MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\n"),
			"proc/sys/net/ipv4/ip_local_port_range":   file("32768\t60999\n"),
			"sys/fs/cgroup/cpu.max":                   file("max 100000\n"),
			"sys/fs/cgroup/memory.max":                file("max\n"),
			"usr/local/nvidia/nothing/that/is/needed": file(""),
		},
		env:      map[string]string{},
		programs: map[string]string{"gcc": "gcc 12.2\nCopyright", "/sbin/ldconfig": "1 libs found in cache\n"},
		space:    map[string][2]uint64{"/dev/shm": {16 << 30, 16 << 30}},
		limits:   map[int]uint64{unix.RLIMIT_NOFILE: 65536, unix.RLIMIT_NPROC: unix.RLIM_INFINITY, unix.RLIMIT_MEMLOCK: 8 << 20},
		cores:    launch.Cores{Own: 8, Shared: 8},
		features: []string{"AVX2", "FMA"},
		kernel:   []Facility{{"memfd", "shared memory", func() error { return nil }}, {"futex", "waiting", func() error { return nil }}},
		folder:   launch.Folder(t.TempDir()),
	}
	for _, c := range change {
		c(m)
	}
	return &Host{
		Root: m.files, Cores: m.cores, Features: m.features, Kernel: m.kernel,
		Env: func(name string) (string, bool) { v, ok := m.env[name]; return v, ok },
		LookPath: func(name string) (string, error) {
			if _, ok := m.programs[name]; ok && !strings.HasPrefix(name, "/") {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		},
		Run: func(_ context.Context, program string, _ ...string) (string, error) {
			out, ok := m.programs[program]
			if !ok {
				out, ok = m.programs[path.Base(program)]
			}
			if text, bad := strings.CutPrefix(out, "error: "); bad || !ok {
				return "", errors.New(text)
			}
			return out, nil
		},
		Space: func(dir string) (uint64, uint64, error) {
			if s, ok := m.space[dir]; ok {
				return s[0], s[1], nil
			}
			if dir == string(m.folder) && !m.fullRun {
				return 1 << 30, 1 << 29, nil
			}
			return 0, 0, fs.ErrNotExist
		},
		Limit:  func(r int) (unix.Rlimit, error) { return unix.Rlimit{Cur: m.limits[r], Max: m.limits[r]}, nil },
		Folder: func() (launch.Folder, error) { return m.folder, m.noFolder },
		Exchange: func(n int) *preflight.Verdict {
			if m.exchange == nil || len(m.exchange.Devices) != n {
				return nil
			}
			return m.exchange
		},
	}
}

// made is what a test may change of a host.
type made struct {
	files    fstest.MapFS
	env      map[string]string
	programs map[string]string // name or path to what it prints
	space    map[string][2]uint64
	limits   map[int]uint64
	cores    launch.Cores
	features []string
	kernel   []Facility
	folder   launch.Folder
	noFolder error
	fullRun  bool
	exchange *preflight.Verdict
}

func (m *made) setenv(pairs string) {
	for _, pair := range strings.Fields(pairs) {
		name, value, _ := strings.Cut(pair, "=")
		m.env[name] = value
	}
}

// t4s is a host like Kaggle's: two devices, libraries in many places.
func t4s(m *made) {
	m.setenv("KAGGLE_KERNEL_RUN_TYPE=Batch LD_LIBRARY_PATH=/usr/local/cuda/lib64:relative::/usr/local/nvidia/lib64")
	m.cores = launch.Cores{Own: 4, Shared: 4}
	m.space["/dev/shm"] = [2]uint64{64 << 20, 64 << 20}
	m.programs["nvidia-smi"] = "0, Tesla T4, 15360 MiB, 570.124.06, 7.5\n1, Tesla T4, 15360 MiB, 570.124.06, 7.5\n"
	m.programs["/sbin/ldconfig"] = "3 libs found\n\tlibnccl.so.2 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnccl.so.2\n\tlibcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/libcuda.so.1\n"
	site := "usr/local/lib/python3.12/dist-packages/"
	for name, f := range map[string]*fstest.MapFile{
		"usr/local/nvidia/lib64/libcuda.so.1":                      link("libcuda.so.570.124.06"),
		"usr/local/nvidia/lib64/libcuda.so.570.124.06":             file("driver"),
		"usr/local/cuda-12.8/targets/x86_64-linux/lib/stubs/x":     file(""),
		"usr/local/cuda/lib64/stubs/libcuda.so.1":                  file("a stub"),
		"usr/local/cuda/lib64/libnvrtc.so.12":                      link("libnvrtc.so.12.8.93"),
		"usr/local/cuda/lib64/libnvrtc.so.12.8.93":                 file("nvrtc"),
		"usr/lib/x86_64-linux-gnu/libnccl.so.2":                    link("libnccl.so.2.25.1"),
		"usr/lib/x86_64-linux-gnu/libnccl.so.2.25.1":               file("nccl"),
		site + "nvidia/nccl/lib/libnccl.so.2":                      file("nccl of pip"),
		site + "nvidia_nccl_cu12-2.27.5.dist-info/METADATA":        file(""),
		site + "nvidia/cublas/lib/libcublasLt.so.12":               file("cublas of pip"),
		site + "nvidia_cublas_cu12-12.8.4.1.dist-info/METADATA":    file(""),
		site + "nvidia_cublas_cu13-13.0.0.19.dist-info/METADATA":   file(""), // who wrote the file?
		site + "nvidia/cuda_nvrtc/lib/libnvrtc.so.12":              file("nvrtc of pip"),
		site + "nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/METADATA": file(""),
	} {
		m.files[name] = f
	}
}

// A whole report, as a person and as a program read it.
func TestGolden(t *testing.T) {
	for name, change := range map[string]func(*made){
		"plain": func(*made) {},
		"t4s":   t4s,
		"slurm": func(m *made) {
			m.setenv("SLURM_STEP_ID=2 SLURM_JOB_ID=71 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=4(x2) SLURM_STEP_NODELIST=n[07-08]")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := hostOf(t, change)
			report := Examine(t.Context(), h)
			raw, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			folder, _ := h.Folder()
			checkGolden(t, name+".json", string(raw)+"\n", folder)
			checkGolden(t, name+".txt", report.Text(false), folder)
		})
	}
}

func checkGolden(t *testing.T, name, got string, folder launch.Folder) {
	t.Helper()
	got = strings.ReplaceAll(got, string(folder), "RUN")
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s", golden, got)
	}
}

// A notebook gets a table, a terminal colours.
func TestForms(t *testing.T) {
	r := Report{Schema: Schema, Findings: []Finding{{"memory", OK, "32 GiB", ""}, {"cores", Fail, "none", "buy <some>"}}}
	if text := r.Text(true); !strings.Contains(text, "\x1b[31mfail\x1b[0m  cores ") || !strings.Contains(text, "-> buy <some>") {
		t.Errorf("%q", text)
	}
	b := r.Display()
	if html, _ := b.Data["text/html"].(string); !strings.Contains(html, "<table") || !strings.Contains(html, "buy &lt;some&gt;") {
		t.Errorf("%v", b.Data)
	}
	if b.Data["text/plain"] != r.Text(false) || r.State() != Fail {
		t.Errorf("%v, %s", b.Data["text/plain"], r.State())
	}
}

// One thing that is amiss makes one finding that is not ok, and says what to do.
func TestAmiss(t *testing.T) {
	broken := func() error { return unix.ENOSYS }
	for _, c := range []struct {
		what   string
		change func(*made)
		state  State
		found  string
		fix    string
	}{
		{"launcher", func(m *made) { m.setenv("PMI_RANK=0 PMI_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2") }, Fail, "both openmpi and pmi", "one launcher"},
		{"launcher", func(m *made) { m.setenv("NEBULA_RANK=0 NEBULA_SIZE=2 NEBULA_JOB=j NEBULA_ADDRESS=n1") }, Warn, "rank 0 of 2", "NEBULA_LOCAL_SIZE"},
		{"meeting place", func(m *made) { m.setenv("JOB_COMPLETION_INDEX=0 NEBULA_SIZE=2 HOSTNAME=j-0") }, Fail, "NEBULA_SERVICE", "in all ranks"},
		{"processor", func(m *made) { m.features = nil }, Warn, "Xeon", "scalar"},
		{"cores", func(m *made) { m.files["proc/loadavg"] = file("9.50 1 1 1/1 1\n") }, Warn, "load 9.50", "busy"},
		{"threads", func(m *made) { m.setenv("NEBULA_THREADS=x") }, Fail, `NEBULA_THREADS="x"`, "correct"},
		{"threads", func(m *made) { m.setenv("NEBULA_THREADS=9") }, Warn, "9 a rank", "NEBULA_THREADS"},
		{"threads", func(m *made) {
			m.setenv("RANK=0 LOCAL_RANK=0 GROUP_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=r OMP_NUM_THREADS=1")
		}, Warn, "1 a rank", "torchrun sets"},
		{"memory", func(m *made) { m.files["sys/fs/cgroup/memory.max"] = file("536870912\n") }, Warn, "limited to 512 MiB", "less than 1 GiB"},
		{"memory", func(m *made) { delete(m.files, "proc/meminfo") }, Warn, "unknown", "mount /proc"},
		{"C compiler", func(m *made) { delete(m.programs, "gcc") }, Warn, "cc, gcc, clang: not on PATH", "install gcc"},
		{"C compiler", func(m *made) { m.programs["gcc"] = "error: gcc failed: exit status 1" }, Warn, "gcc failed", "install gcc"},
		{"C compiler", func(m *made) { m.setenv("FORGE_CC=tcc") }, Warn, "tcc: not on PATH", "correct FORGE_CC"},
		{"shared memory", func(m *made) { m.space["/dev/shm"] = [2]uint64{64 << 20, 64 << 20} }, Warn, "64 MiB", "--shm-size"},
		{"shared memory", func(m *made) { m.space["/dev/shm"] = [2]uint64{1 << 30, 1 << 20} }, Warn, "1 MiB free", "--shm-size"},
		{"shared memory", func(m *made) { delete(m.space, "/dev/shm") }, Warn, "/dev/shm: ", "--shm-size"},
		{"kernel facilities", func(m *made) { m.kernel[1].Try = broken }, Fail, "no futex (function not implemented), memfd", "futex is for waiting"},
		{"ports", func(m *made) { m.files["proc/sys/net/ipv4/ip_local_port_range"] = file("1024 65535") }, Warn, "gives away 20000 to 31999", "ip_local_port_range"},
		{"limits", func(m *made) { m.limits[unix.RLIMIT_NOFILE] = 256 }, Warn, "open files: 256", "ulimit -n 1024"},
		{"run folder", func(m *made) { m.noFolder = errors.New("a foreign folder") }, Fail, "a foreign folder", "XDG_RUNTIME_DIR"},
		{"run folder", func(m *made) { m.space[string(m.folder)] = [2]uint64{1 << 30, 1 << 20} }, Warn, "1 MiB free", "logs"},
		{"run folder", func(m *made) { m.fullRun = true }, Warn, "not exist", "XDG_RUNTIME_DIR"},
		{"earlier jobs", func(m *made) { leave(t, m.folder, "old") }, Warn, "left behind: old", "forge nebula ps"},
		{"earlier jobs", func(m *made) { os.Mkdir(filepath.Join(string(m.folder), "junk"), 0o700) }, Warn, "junk", "remove"},
		{"GPU", func(m *made) { m.files["dev/nvidia0"] = file("") }, Warn, "1 NVIDIA devices, but no nvidia-smi", "driver"},
		{"GPU", func(m *made) { m.programs["nvidia-smi"] = "error: nvidia-smi gave no answer" }, Warn, "no answer", "driver"},
		{"GPU", func(m *made) { m.programs["nvidia-smi"] = "Driver not loaded\n" }, Warn, `says "Driver not loaded"`, "driver"},
		{"driver library", func(m *made) { m.programs["nvidia-smi"] = "0, T4, 1 MiB, 570, 7.5\n" }, Fail, "nowhere", "--gpus all"},
		{"driver library", func(m *made) {
			t4s(m)
			m.setenv("NEBULA_CUDA_LIBS=/usr/local/cuda/compat")
			m.files["usr/local/cuda/compat/libcuda.so.1"] = file("compat")
		}, Warn, "/usr/local/cuda/compat/libcuda.so.1 version unknown (NEBULA_CUDA_LIBS); and 1 others: /usr/local/nvidia/lib64/libcuda.so.1 570.124.06", "fit the driver"},
		{"CUDA libraries", func(m *made) { m.programs["nvidia-smi"] = "0, T4, 1 MiB, 570, 7.5\n" }, Warn, "no NVRTC; no cuBLASLt", "nvidia-cuda-nvrtc-cu12"},
		{"data types", func(m *made) { m.programs["nvidia-smi"] = "0, P100, 1 MiB, 570, 6.0\n" }, Warn, "0: decoders in f32 or bf16, programs in f32", "no longer"},
		{"data types", func(m *made) { m.programs["nvidia-smi"] = "0, P100, 1 MiB, 300, [N/A]\n" }, Warn, "0: decoders in f32 or bf16, programs in f32", "newer driver"},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, f := range Examine(t.Context(), hostOf(t, c.change)).Findings {
				if f.What == c.what && (f.State != c.state || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Fix, c.fix)) {
					t.Errorf("%+v; want %s: %q, %q", f, c.state, c.found, c.fix)
				}
				if (f.State == OK) != (f.Fix == "") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// leave records a job whose parent has gone.
func leave(t *testing.T, folder launch.Folder, job string) {
	t.Helper()
	dir := filepath.Join(string(folder), job)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(launch.Record{Version: 1, Job: job, Parent: proc.ID{PID: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "job.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The search finds what is there in its documented order, each file once.
func TestLibraries(t *testing.T) {
	h := hostOf(t, t4s)
	var got []string
	for _, l := range h.Libraries(t.Context(), "libnccl.so.2") {
		got = append(got, l.String())
	}
	want := []string{
		"/usr/lib/x86_64-linux-gnu/libnccl.so.2 2.25.1 (loader cache)",
		"/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2 2.27.5 (Python package)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
	if l := h.Libraries(t.Context(), "libcublasLt.so.12"); len(l) != 1 || l[0].Version != "" {
		t.Errorf("the version of a file that two packages write is given: %+v", l)
	}
	if l := h.Libraries(t.Context(), "libnvrtc.so.12"); len(l) != 2 || l[1].Version != "12.8.93" {
		t.Errorf("%+v", l)
	}
}

// On a real file system: folders that are links lead to one file, packages of
// CUDA 13 share a folder, and links in a circle lead nowhere.
func TestLibrariesOnDisk(t *testing.T) {
	h := hostOf(t, func(m *made) { m.setenv("NEBULA_CUDA_LIBS=/a VIRTUAL_ENV=/venv") })
	root := t.TempDir()
	h.Root = os.DirFS(root)
	site := "venv/lib/python3.12/site-packages/"
	for _, name := range []string{
		"usr/local/cuda-13.0/lib64/libnvrtc.so.13.0.88",
		site + "nvidia/cu13/lib/libnvrtc.so.13",
		site + "nvidia_cuda_nvrtc-13.0.88.dist-info/METADATA",
		site + "nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/METADATA",
		"a/x",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"usr/local/cuda-13.0/lib64/libnvrtc.so.13": "libnvrtc.so.13.0.88",
		"usr/local/cuda-13":                        "cuda-13.0",
		"usr/local/cuda":                           "cuda-13",
		"a/libnvrtc.so.13":                         "b",
		"a/b":                                      "libnvrtc.so.13",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, l := range h.Libraries(t.Context(), "libnvrtc.so.13") {
		got = append(got, l.String())
	}
	want := []string{
		"/usr/local/cuda/lib64/libnvrtc.so.13 13.0.88 (CUDA toolkit)",
		"/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13 13.0.88 (Python package)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}

// The real host is examined without an error of the checks themselves.
func TestThisHost(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for _, f := range Examine(t.Context(), This()).Findings {
		if f.Found == "" || (f.State == OK) != (f.Fix == "") {
			t.Errorf("%+v", f)
		}
		t.Logf("%-18s %-4s %s", f.What, f.State, f.Found)
	}
}

// A program that does not answer ends with its context.
func TestHangingProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, "/bin/sh", "-c", "sleep 1000"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("error %v", err)
	}
}

// TestBetweenGPUs tells how devices exchange tensors, as far as anyone has found out.
func TestBetweenGPUs(t *testing.T) {
	verdict := preflight.Verdict{Direct: true, Driver: "13.0", NCCL: "2.28.9", Devices: []string{"GPU-1", "GPU-2"}}
	indirect := verdict
	indirect.Direct, indirect.Why = false, "they did not end within 15s"
	for _, c := range []struct {
		change func(*made)
		state  State
		found  string
	}{
		{func(*made) {}, OK, "fewer than two GPUs"},
		{t4s, OK, "how 2 GPUs exchange tensors is found out by the first job, or by forge nebula preflight"},
		{func(m *made) { t4s(m); m.exchange = &verdict }, OK, "2 GPUs exchange tensors directly"},
		{func(m *made) { t4s(m); m.exchange = &indirect }, Warn, "through memory of the host: directly, they did not end within 15s"},
		{func(m *made) { t4s(m); m.setenv("NCCL_P2P_DISABLE=1") }, OK, "NCCL_P2P_DISABLE=1 decides"},
	} {
		f := betweenGPUs(t.Context(), hostOf(t, c.change))
		if f.State != c.state || !strings.Contains(f.Found, c.found) || (f.State != OK) != (f.Fix != "") {
			t.Errorf("%+v, want %s: %q", f, c.state, c.found)
		}
	}
}

// A job is for one machine: how many GPUs, which, and what programs on them need.
func TestExpect(t *testing.T) {
	for _, c := range []struct {
		expect string
		change func(*made)
		state  State
		found  string
	}{
		{"2xT4", t4s, OK, "expected 2xT4; found 2: Tesla T4, Tesla T4"},
		{"2xtesla", t4s, OK, "found 2"},
		{"1xT4", t4s, Fail, "expected 1xT4; found 2: Tesla T4, Tesla T4"},
		{"2xA100", t4s, Fail, "expected 2xA100; found 2: Tesla T4"},
		{"2xT4", func(*made) {}, Fail, "expected 2xT4; found: no NVIDIA GPU"},
		{"1xT4", func(m *made) { m.programs["nvidia-smi"] = "0, T4, 1 MiB, 570, 7.5\n" }, Fail, "but no NVRTC; no cuBLASLt"},
		{"2xT4", func(m *made) { m.programs["nvidia-smi"] = "error: nvidia-smi gave no answer" }, Fail, "gave no answer"},
	} {
		shape, err := ParseShape(c.expect)
		if err != nil {
			t.Fatal(err)
		}
		got := Run(t.Context(), hostOf(t, c.change), Expect(shape))[0]
		if got.What != "machine" || got.State != c.state || !strings.Contains(got.Found, c.found) || (got.Fix == "") != (c.state == OK) {
			t.Errorf("%s: %+v; want %s, %q", c.expect, got, c.state, c.found)
		}
	}
}

func FuzzParseShape(f *testing.F) {
	for _, s := range []string{"2xT4", "1xRTX PRO 6000", "0xT4", "T4", "99x-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseShape(text); err == nil && (s.GPUs < 1 || s.Name == "" || s.String() != text) {
			t.Errorf("%q is read as %+v", text, s)
		}
	})
}
