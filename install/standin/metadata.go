package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// strictly reads a metadata file; a field that the service does not know is refused.
func strictly(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return says("Metadata file not found: %s", path)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

type datasetMeta struct {
	ID, Title string
	Licenses  []struct{ Name string }
}

func (k *kaggle) readDataset(dir string) (m datasetMeta, name string, err error) {
	if err := strictly(filepath.Join(dir, "dataset-metadata.json"), &m); err != nil {
		return m, "", err
	}
	if name, err = one([]string{m.ID}); err != nil {
		return m, "", err
	}
	slug := strings.ReplaceAll(strings.ToLower(m.Title), " ", "-")
	switch {
	case len(m.Licenses) != 1 || m.Licenses[0].Name == "":
		err = says("Please specify exactly one license")
	case len(name) < 6 || len(name) > 50:
		err = says("The dataset slug must be between 6 and 50 characters")
	case len(m.Title) < 6 || len(m.Title) > 50:
		err = says("The dataset title must be between 6 and 50 characters")
	case slug != name:
		err = fmt.Errorf("the title %q makes the slug %s, not %s", m.Title, slug, name)
	}
	return m, name, err
}

type kernelMeta struct {
	ID             string
	Title          string
	CodeFile       string   `json:"code_file"`
	Language       string   `json:"language"`
	KernelType     string   `json:"kernel_type"`
	IsPrivate      *bool    `json:"is_private"`
	EnableGPU      *bool    `json:"enable_gpu"`
	EnableTPU      *bool    `json:"enable_tpu"`
	EnableInternet *bool    `json:"enable_internet"`
	MachineShape   string   `json:"machine_shape"`
	DatasetSources []string `json:"dataset_sources"`
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func (k *kaggle) readKernel(dir, accelerator string) (m kernelMeta, name string, err error) {
	if err := strictly(filepath.Join(dir, "kernel-metadata.json"), &m); err != nil {
		return m, "", err
	}
	if name, err = one([]string{m.ID}); err != nil {
		return m, "", err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
	case len(m.Title) < 5:
		err = says("Title must be at least five characters")
	case notSlug.ReplaceAllString(strings.ToLower(m.Title), "-") != name:
		err = says("Your kernel title does not resolve to the specified id.")
	case !exists(filepath.Join(dir, m.CodeFile)):
		err = says("Source file not found: %s", m.CodeFile)
	case len(entries) != 2:
		err = fmt.Errorf("one file goes up, and %s holds %d beside the metadata", dir, len(entries)-1)
	case m.Language != "python" || m.KernelType != "script":
		err = fmt.Errorf("a job is a script in python, not a %s in %s", m.KernelType, m.Language)
	case m.IsPrivate == nil || !*m.IsPrivate:
		err = says("the kernel would be public")
	case m.EnableGPU == nil || m.EnableTPU == nil || m.EnableInternet == nil:
		err = says("a field has a default that versions of the tool disagree about")
	case *m.EnableGPU != (m.MachineShape != "") || m.MachineShape != accelerator:
		err = fmt.Errorf("the machine is ambiguous: enable_gpu %v, machine_shape %q, --accelerator %q", *m.EnableGPU, m.MachineShape, accelerator)
	}
	return m, name, err
}
