package importer

import (
	"errors"
	"fmt"

	"forgekernel/forge/tensor"
)

// MaxBound is the number of inputs that can be bound: each is found by an import
// of its own.
const MaxBound = 64

// NeedError says that an input must be known while a model is imported.
type NeedError struct {
	Input   string // empty when the value depends on more than an input
	Purpose string
	Err     error
}

func (e *NeedError) Error() string { return e.Err.Error() }

// Needs is the input whose value would make an import go on, or "".
func (e *NeedError) Needs() string { return e.Input }

// Bind runs an import again for each input that turns out to act as an attribute, if
// there is a value for it. bound tells what each that was found is needed for.
func Bind(values map[string]*tensor.Tensor, run func(bound map[string]string) (*Program, error)) (*Program, error) {
	bound := make(map[string]string)
	for {
		p, err := run(bound)
		var need *NeedError
		if !errors.As(err, &need) || values[need.Input] == nil || bound[need.Input] != "" {
			return p, err
		}
		if len(bound) == MaxBound {
			return nil, fmt.Errorf("more than %d inputs act as attributes", MaxBound)
		}
		bound[need.Input] = need.Purpose
	}
}
