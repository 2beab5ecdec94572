package standin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// build mounts the root of a host.
func (j hostJob) build() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("host", j.Root, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount a root: %w", err)
	}
	for _, step := range []func() error{j.system, j.libraries, j.folders} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (j hostJob) at(path string) string { return filepath.Join(j.Root, path) }

// bind shows a folder or file of this machine at a path of the host.
func (j hostJob) bind(from, at string, flags uintptr) error {
	if err := os.MkdirAll(j.at(at), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(from, j.at(at), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", from, err)
	}
	if flags == 0 {
		return nil
	}
	return unix.Mount("", j.at(at), "", unix.MS_BIND|unix.MS_REMOUNT|flags, "")
}

// system is what a host has like every other.
func (j hostJob) system() error {
	for _, dir := range []string{"/usr", "/etc", "/dev", "/sys"} {
		if err := j.bind(dir, dir, 0); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		target, err := os.Readlink(dir)
		if err == nil {
			err = os.Symlink(target, j.at(dir))
		} else if _, missing := os.Stat(dir); missing == nil {
			err = j.bind(dir, dir, 0)
		} else {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(
		os.Mkdir(j.at("proc"), 0o755), os.Mkdir(j.at("tmp"), 0o777), os.Mkdir(j.at("root"), 0o700),
		unix.Mount("proc", j.at("proc"), "proc", 0, ""),
		// What this machine has installed there is not what the service has.
		unix.Mount("host", j.at("usr/local"), "tmpfs", 0, "mode=755"))
}

// libraries puts files where the service's images have drivers and libraries. They are
// found and named; there is no GPU behind them.
func (j hostJob) libraries() error {
	if len(j.GPUs) == 0 {
		return nil
	}
	driver, packages := "usr/local/nvidia/lib64", "usr/local/lib/python3.12/dist-packages"
	files := map[string]string{
		driver + "/libcuda.so.1":                                     "no driver\n",
		"usr/local/cuda/lib64/libnvrtc.so.12":                        "no compiler\n",
		packages + "/nvidia/nccl/lib/libnccl.so.2":                   "no library\n",
		packages + "/nvidia_nccl_cu12-2.27.5.dist-info/METADATA":     "",
		packages + "/nvidia/cublas/lib/libcublasLt.so.12":            "no library\n",
		packages + "/nvidia_cublas_cu12-12.8.4.1.dist-info/METADATA": "",
	}
	var smi strings.Builder
	smi.WriteString("#!/bin/sh\ncat <<'END'\n")
	for i, name := range j.GPUs {
		fmt.Fprintf(&smi, "%d, %s, 15360 MiB, 570.172.08, 7.5\n", i, name)
	}
	smi.WriteString("END\n")
	files["usr/local/nvidia/bin/nvidia-smi"] = smi.String()
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(j.at(path)), 0o755), os.WriteFile(j.at(path), []byte(text), 0o755)); err != nil {
			return err
		}
	}
	return nil
}

// folders are those of the service.
func (j hostJob) folders() error {
	if j.Kind == "colab" {
		return j.bind(j.Output, "/content", 0)
	}
	if err := errors.Join(j.bind(j.Output, "/kaggle/working", 0), j.bind(filepath.Dir(j.Script), "/kaggle/src", unix.MS_RDONLY)); err != nil {
		return err
	}
	if err := os.MkdirAll(j.at("/kaggle/input"), 0o755); err != nil {
		return err
	}
	for name, dir := range j.Inputs {
		path := filepath.Join("/kaggle/input", name)
		if err := j.bind(dir, path, unix.MS_RDONLY); err != nil {
			return err
		}
		if err := j.refuses(path); err != nil {
			return err
		}
	}
	return nil
}

// refuses makes sure that an input is what it is at the service.
func (j hostJob) refuses(path string) error {
	err := os.WriteFile(filepath.Join(j.at(path), "written"), nil, 0o644)
	if !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("the input folder %s is writable: %v", path, err)
	}
	entries, err := os.ReadDir(j.at(path))
	for _, e := range entries {
		if info, failed := e.Info(); failed != nil || info.Mode()&0o111 != 0 {
			return fmt.Errorf("%s/%s could be executed (%v)", path, e.Name(), failed)
		}
	}
	return err
}
