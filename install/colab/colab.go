// Package colab runs a notebook as a job on Google Colab, through Google's own
// command-line tool, google-colab-cli: a session is made, the bundle (see package bundle)
// goes up file by file, a bootstrap script runs in the session's Python, one archive
// comes back, and the session is stopped, whatever happened before.
//
// A job is one session. Nothing here opens a tunnel or a shell into it, keeps it awake,
// or connects several with one another, which the terms of the free service rule out.
// Google's tool keeps the login; no credentials pass through here.
package colab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"forgekernel/install/bundle"
)

// Job is a notebook to run on Colab.
type Job struct {
	bundle.Spec
	GPU     string        // "T4", "L4", "G4", "A100" or "H100"; empty for a machine without one
	Session string        // its name
	Timeout time.Duration // of the whole job
	Dir     string        // the folder for what is written and fetched

	manifest *bundle.Manifest
}

// shapes are the machines behind the names of GPUs, by a part of what nvidia-smi calls
// them. The tool takes an A100 for any name that it does not know.
var shapes = map[string]string{"T4": "1xT4", "L4": "1xL4", "G4": "1xRTX PRO 6000", "A100": "1xA100", "H100": "1xH100"}

// Shape is the machine that stands behind the name of a GPU.
func Shape(gpu string) (string, error) {
	if shape := shapes[gpu]; shape != "" || gpu == "" {
		return shape, nil
	}
	return "", fmt.Errorf("there is no GPU %q on Colab: there are T4, L4, G4, A100 and H100", gpu)
}

// Folders of the session. The tool's paths are relative to its root.
const (
	remote  = "content/forge-job"
	archive = "content/forge-job.tgz"
)

var place = bundle.Place{Input: "/" + remote, Output: "/content/forge-output", Pack: "/" + archive}

// maxFile bounds a file of the bundle, in bytes: the tool sends it as text in one request.
const maxFile = 256 << 20

var sessionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$`)

// Output is the folder of what comes back.
func (j *Job) Output() string { return filepath.Join(j.Dir, "output") }

func (j *Job) bundleDir() string      { return filepath.Join(j.Dir, "bundle") }
func (j *Job) script(n string) string { return filepath.Join(j.Dir, n) }
func (j *Job) packed() string         { return filepath.Join(j.Dir, "forge-job.tgz") }
func (j *Job) local(f string) string  { return filepath.Join(j.bundleDir(), f) }
func (j *Job) names() (names []string) {
	for _, f := range j.manifest.Files {
		names = append(names, f.Name)
	}
	return append(names, bundle.ManifestName) // last: with it the bundle is whole
}

func (j *Job) check() error {
	switch {
	case !sessionPattern.MatchString(j.Session):
		return fmt.Errorf("%q is not the name of a session: use letters, digits, dashes and underscores", j.Session)
	case j.Timeout < time.Second:
		return errors.New("a job needs a second at least")
	}
	return nil
}

// prepared is what the first script says when it was executed: the tool ends with status
// 0 also when a script fails.
const prepared = "forge job: ready for the bundle"

// Names of scripts.
const (
	prepareName   = "prepare.py"
	bootstrapName = "bootstrap.py"
)

// Write makes the folder of the bundle and the scripts below Dir.
func (j *Job) Write() error {
	if err := j.check(); err != nil {
		return err
	}
	var err error
	if j.manifest, err = j.Spec.Write(j.bundleDir()); err != nil {
		return err
	}
	large := func(f bundle.File) bool { return f.Size > maxFile }
	if i := slices.IndexFunc(j.manifest.Files, large); i >= 0 {
		f := j.manifest.Files[i]
		return fmt.Errorf("%s has %d MiB, and Colab's tool sends no more than %d at once: let the notebook get it", f.Name, f.Size>>20, maxFile>>20)
	}
	script, err := j.manifest.Script(place)
	if err != nil {
		return err
	}
	var prepare strings.Builder
	fmt.Fprintf(&prepare, "import os\n\nos.makedirs(%q, exist_ok=True)\nprint(%q)\n", place.Input, prepared)
	return errors.Join(
		os.WriteFile(j.script(prepareName), []byte(prepare.String()), 0o644),
		os.WriteFile(j.script(bootstrapName), script, 0o644))
}
