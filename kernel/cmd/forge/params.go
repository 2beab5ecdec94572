package main

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// params are the values of a notebook's parameters, as a flag that is given once for
// each: k=v, where the value is everything after the first equals sign.
type params map[string]string

var _ pflag.Value = (*params)(nil)

// Set adds one.
func (p *params) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found || !token.IsIdentifier(name) {
		return errors.New("it is not written k=v")
	}
	if *p == nil {
		*p = params{}
	}
	if _, twice := (*p)[name]; twice {
		return fmt.Errorf("%s has a value already", name)
	}
	(*p)[name] = value
	return nil
}

// Type is how help calls the value.
func (p *params) Type() string { return "k=v" }

func (p *params) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(*p)) {
		list = append(list, name+"="+(*p)[name])
	}
	return strings.Join(list, " ")
}
