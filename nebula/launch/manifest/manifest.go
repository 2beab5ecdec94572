// Package manifest writes what Kubernetes needs to start the ranks of a job: an
// Indexed Job with its headless service, or a JobSet, which makes the service
// itself and starts all ranks again when one fails.
//
// Every rank is a pod of its own. It finds its place by the variables that
// package launch reads: JOB_COMPLETION_INDEX, which Kubernetes sets, and the
// NEBULA_ ones, which the manifest does.
package manifest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// Spec says what the ranks are.
type Spec struct {
	Kind     string   // [Job] or [JobSet]
	Name     string   // of the job: a DNS label of at most 40 characters
	Image    string   // of the container, with forge in it
	Command  []string // of every rank
	Ranks    int      // 1 to [MaxRanks]
	Restarts int      // of all ranks together, when one fails; a JobSet's alone
	CPU      string   // cores of a rank, as Kubernetes writes them: "4", "500m"
	Memory   string   // memory of a rank: "16Gi"
	Shared   string   // size of /dev/shm, which counts as memory: "1Gi"
	GPUs     int      // NVIDIA devices of a rank
}

// Kinds of manifests.
const (
	Job    = "job"
	JobSet = "jobset"
)

// MaxRanks bounds the pods of a job.
const MaxRanks = 10000

//go:embed manifest.yaml
var text string

var tmpl = template.Must(template.New("manifest").Funcs(template.FuncMap{"quote": quote, "indent": indent}).Parse(text))

// quote writes a string as JSON, which YAML reads as it is.
func quote(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func indent(n int, s string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+strings.Repeat(" ", n))
}

// Write writes the manifest as YAML.
func Write(w io.Writer, s Spec) error {
	if err := s.Check(); err != nil {
		return err
	}
	var pods strings.Builder
	if err := tmpl.ExecuteTemplate(&pods, "job spec", s); err != nil {
		return err
	}
	return tmpl.ExecuteTemplate(w, s.Kind, struct {
		Spec
		Template string
	}{s, pods.String()})
}

var (
	label    = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`)
	quantity = regexp.MustCompile(`^[1-9][0-9]*(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)
)

// Check says what is wrong with the specification.
func (s Spec) Check() error {
	switch {
	case !slices.Contains([]string{Job, JobSet}, s.Kind):
		return fmt.Errorf("kind %q is neither %s nor %s", s.Kind, Job, JobSet)
	case !label.MatchString(s.Name):
		return fmt.Errorf("name %q: it has at most 40 lower-case letters, digits and '-', and begins with a letter", s.Name)
	case s.Image == "" || strings.ContainsAny(s.Image, " \t\n"):
		return fmt.Errorf("image %q is not the name of an image", s.Image)
	case len(s.Command) == 0:
		return errors.New("the ranks have no command")
	case s.Ranks < 1 || s.Ranks > MaxRanks:
		return fmt.Errorf("%d ranks: a job has 1 to %d", s.Ranks, MaxRanks)
	case s.Restarts < 0 || s.Restarts > 0 && s.Kind != JobSet:
		return fmt.Errorf("%d restarts: only a %s starts its ranks again, and not less than 0 times", s.Restarts, JobSet)
	case s.GPUs < 0:
		return fmt.Errorf("%d GPUs of a rank", s.GPUs)
	}
	for _, q := range []struct{ what, value string }{{"cores", s.CPU}, {"memory", s.Memory}, {"shared memory", s.Shared}} {
		if !quantity.MatchString(q.value) {
			return fmt.Errorf("%s of a rank: %q is not a quantity such as 4, 500m or 16Gi", q.what, q.value)
		}
	}
	return nil
}
