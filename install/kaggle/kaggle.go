// Package kaggle runs a notebook as a job on Kaggle, through Kaggle's own command-line
// tool and within what it supports: a script that runs a binary from a dataset.
//
// [Job.Write] makes two folders. The dataset holds the bundle (see package bundle), the
// kernel the bootstrap script and kernel-metadata.json, in which one file goes up and the
// machine is named. [Job.Push] drives the tool: it creates or updates the dataset and
// waits until Kaggle has it, pushes the script, follows its log and fetches what it wrote.
// [Fetch] does the last two alone, for a push that was interrupted.
//
// A job is one machine of Kaggle's. Nothing here opens a tunnel, keeps a session awake,
// connects machines with one another or works around a quota, which the terms of the
// service rule out. Kaggle's tool keeps the login; no credentials pass through here.
package kaggle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"forgekernel/install/bundle"
)

// Job is a notebook to run on Kaggle.
type Job struct {
	bundle.Spec
	User        string        // whose account; part of the names of kernel and dataset
	Slug        string        // the name of the kernel in addresses
	Accelerator string        // "NvidiaTeslaT4"; empty for a machine without one
	Timeout     time.Duration // of the whole job; 0 leaves it to Kaggle
	Internet    bool          // whether the job may reach others
	Dir         string        // the folder for what is written and fetched

	manifest *bundle.Manifest
}

// shapes are the machines behind the names of accelerators. Where Kaggle would choose
// another one, or none, the job fails at its start.
var shapes = map[string]string{"NvidiaTeslaT4": "2xT4"}

// retired accelerators are still accepted by Kaggle, which then takes another machine.
var retired = []string{"NvidiaTeslaP100", "TpuV38", "Tpu1VmV38"}

// Shape is the machine that stands behind an accelerator.
func Shape(accelerator string) (string, error) {
	for _, old := range retired {
		if strings.EqualFold(old, accelerator) {
			return "", fmt.Errorf("%s is retired: Kaggle would run the job on another machine", accelerator)
		}
	}
	if accelerator == "" {
		return "", nil
	}
	shape, known := shapes[accelerator]
	if !known {
		return "", fmt.Errorf("which machine %s is, is not known here: say it with --expect, such as --expect 2xT4", accelerator)
	}
	return shape, nil
}

// Limits that Kaggle's tool or service checks.
const (
	minName = 6 // characters of a dataset's slug and title
	maxName = 50
)

var slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Slug is the name of a kernel for a notebook: what Kaggle makes of a title.
func Slug(notebook string) string {
	name := strings.TrimSuffix(filepath.Base(notebook), ".ipynb")
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	slug := "forge-" + strings.Join(words, "-")
	return strings.Trim(slug[:min(len(slug), maxName-len(datasetSuffix))], "-")
}

// datasetSuffix tells the dataset of a job from its kernel.
const datasetSuffix = "-files"

func (j *Job) kernel() string     { return j.User + "/" + j.Slug }
func (j *Job) dataset() string    { return j.kernel() + datasetSuffix }
func (j *Job) kernelDir() string  { return filepath.Join(j.Dir, "kernel") }
func (j *Job) datasetDir() string { return filepath.Join(j.Dir, "dataset") }

// Output is the folder of what is fetched.
func (j *Job) Output() string { return filepath.Join(j.Dir, "output") }

// title resolves to the slug, which Kaggle makes of it.
func title(slug string) string { return strings.ReplaceAll(slug, "-", " ") }

// validUser refuses also what the tool would take for an option.
func validUser(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsAny(name, "/ \t")
}

func (j *Job) check() error {
	switch {
	case !validUser(j.User):
		return fmt.Errorf("%q is not a Kaggle user", j.User)
	case !slugPattern.MatchString(j.Slug) || len(j.Slug) < minName || len(j.Slug+datasetSuffix) > maxName:
		return fmt.Errorf("%q is not the name of a kernel: use %d to %d lower-case letters, digits and dashes", j.Slug, minName, maxName-len(datasetSuffix))
	case j.Timeout != 0 && j.Timeout < time.Second:
		return errors.New("a job needs a second at least")
	}
	return nil
}

// kernelMetadata is kernel-metadata.json. All fields that decide about the machine are
// written, because their defaults differ between versions of the tool.
type kernelMetadata struct {
	ID             string   `json:"id"`
	Title          string   `json:"title"`
	CodeFile       string   `json:"code_file"`
	Language       string   `json:"language"`
	KernelType     string   `json:"kernel_type"`
	IsPrivate      bool     `json:"is_private"`
	EnableGPU      bool     `json:"enable_gpu"`
	EnableTPU      bool     `json:"enable_tpu"`
	EnableInternet bool     `json:"enable_internet"`
	MachineShape   string   `json:"machine_shape,omitempty"`
	DatasetSources []string `json:"dataset_sources"`
}

// datasetMetadata is dataset-metadata.json.
type datasetMetadata struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Licenses []license `json:"licenses"`
}

type license struct {
	Name string `json:"name"`
}

// Names of files.
const (
	scriptName      = "bootstrap.py"
	kernelMetaName  = "kernel-metadata.json"
	datasetMetaName = "dataset-metadata.json"
)

// Kaggle's own folders.
var place = bundle.Place{Input: "/kaggle/input", Output: "/kaggle/working", Exit: true}

// Write makes the folders of dataset and kernel below Dir.
func (j *Job) Write() error {
	if err := j.check(); err != nil {
		return err
	}
	var err error
	if j.manifest, err = j.Spec.Write(j.datasetDir()); err != nil {
		return err
	}
	script, err := j.manifest.Script(place)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.kernelDir(), 0o755); err != nil {
		return err
	}
	return errors.Join(
		writeJSON(filepath.Join(j.datasetDir(), datasetMetaName), datasetMetadata{
			ID: j.dataset(), Title: title(j.Slug + datasetSuffix), Licenses: []license{{"other"}},
		}),
		os.WriteFile(filepath.Join(j.kernelDir(), scriptName), script, 0o644),
		writeJSON(filepath.Join(j.kernelDir(), kernelMetaName), kernelMetadata{
			ID: j.kernel(), Title: title(j.Slug), CodeFile: scriptName, Language: "python", KernelType: "script",
			IsPrivate: true, EnableGPU: j.Accelerator != "", EnableInternet: j.Internet, MachineShape: j.Accelerator,
			DatasetSources: []string{j.dataset()},
		}))
}

func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
