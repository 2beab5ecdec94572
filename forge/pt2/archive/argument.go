package archive

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Argument is an operand or result of a node. Kind is that of the schema, as
// "as_tensor"; the other fields hold what the kind needs.
type Argument struct {
	Kind  string
	Names []string  // of tensors; one for a single tensor, empty for none
	Ints  []Scalar  // one for a single integer or symbol
	Reals []float64 // one for a single number
	Text  string    // a string, or the name of a device's type or graph
	Flags []bool    // one for a single flag
	Enum  int       // of a type, memory format or layout
	Body  *Graph    // of a graph
	List  bool      // whether a single tensor or several stand for a result
}

// Scalar is an integer, or a symbol by name.
type Scalar struct {
	Int  int64
	Name string
}

// None reports whether there is no value.
func (a *Argument) None() bool { return a.Kind == "" || a.Kind == "as_none" }

// Value is the name of the one value that the argument is; empty for any other.
func (a *Argument) Value() string {
	switch {
	case a.List:
		return ""
	case len(a.Names) == 1:
		return a.Names[0]
	case len(a.Ints) == 1:
		return a.Ints[0].Name
	}
	return ""
}

type name struct {
	Name string `json:"name"`
}

// real is a float64; infinities are strings.
type real float64

func (r *real) UnmarshalJSON(raw []byte) error {
	if text, err := strconv.Unquote(string(raw)); err == nil {
		switch text {
		case "Infinity":
			*r = real(math.Inf(1))
		case "-Infinity":
			*r = real(math.Inf(-1))
		case "NaN":
			*r = real(math.NaN())
		default:
			return fmt.Errorf("%.40q is no number", text)
		}
		return nil
	}
	return json.Unmarshal(raw, (*float64)(r))
}

// UnmarshalJSON reads a union of the schema. Kinds that are not supported are kept
// by name.
func (a *Argument) UnmarshalJSON(raw []byte) error {
	kind, body, err := union(raw)
	if err != nil {
		return err
	}
	a.Kind = kind
	switch kind {
	case "as_tensor", "as_custom_obj":
		return a.readNames(body, false)
	case "as_tensors":
		return a.readNames(body, true)
	case "as_optional_tensor":
		var one Argument
		if err := json.Unmarshal(body, &one); err != nil {
			return err
		}
		if one.Kind != "as_none" && one.Kind != "as_tensor" {
			return fmt.Errorf("%q stands for a tensor", one.Kind)
		}
		*a = one
		return nil
	case "as_optional_tensors":
		return a.readOptional(body)
	case "as_int", "as_float", "as_bool", "as_string", "as_scalar_type", "as_memory_format", "as_layout":
		return a.readPlain(kind, body)
	case "as_ints", "as_floats", "as_bools":
		return a.readList(kind, body)
	case "as_sym_int", "as_sym_float", "as_sym_bool":
		var s symbol
		err := json.Unmarshal(body, &s)
		a.Ints = []Scalar{Scalar(s)}
		return err
	case "as_sym_ints":
		var list []symbol
		err := json.Unmarshal(body, &list)
		for _, s := range list {
			a.Ints = append(a.Ints, Scalar(s))
		}
		return err
	case "as_graph":
		var g struct {
			Name string `json:"name"`
			Body *Graph `json:"graph"`
		}
		err := json.Unmarshal(body, &g)
		a.Text, a.Body = g.Name, g.Body
		return err
	}
	return nil
}

func (a *Argument) readNames(body []byte, list bool) error {
	a.List = list
	if !list {
		var n name
		err := json.Unmarshal(body, &n)
		a.Names = []string{n.Name}
		return err
	}
	var names []name
	err := json.Unmarshal(body, &names)
	for _, n := range names {
		a.Names = append(a.Names, n.Name)
	}
	return err
}

// readOptional reads a list in which an empty name stands for none.
func (a *Argument) readOptional(body []byte) error {
	var list []Argument
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	a.List = true
	for _, one := range list {
		switch one.Kind {
		case "as_tensor":
			a.Names = append(a.Names, one.Names[0])
		case "as_none":
			a.Names = append(a.Names, "")
		default:
			return fmt.Errorf("%q stands in a list of tensors", one.Kind)
		}
	}
	return nil
}

func (a *Argument) readPlain(kind string, body []byte) error {
	switch kind {
	case "as_int":
		a.Ints = make([]Scalar, 1)
		return json.Unmarshal(body, &a.Ints[0].Int)
	case "as_float":
		var r real
		err := json.Unmarshal(body, &r)
		a.Reals = []float64{float64(r)}
		return err
	case "as_bool":
		a.Flags = make([]bool, 1)
		return json.Unmarshal(body, &a.Flags[0])
	case "as_string":
		return json.Unmarshal(body, &a.Text)
	}
	return json.Unmarshal(body, &a.Enum)
}

func (a *Argument) readList(kind string, body []byte) error {
	switch kind {
	case "as_ints":
		var list []int64
		err := json.Unmarshal(body, &list)
		for _, n := range list {
			a.Ints = append(a.Ints, Scalar{Int: n})
		}
		return err
	case "as_floats":
		var list []real
		err := json.Unmarshal(body, &list)
		for _, r := range list {
			a.Reals = append(a.Reals, float64(r))
		}
		return err
	}
	return json.Unmarshal(body, &a.Flags)
}

// symbol is a symbol by name or a plain integer.
type symbol Scalar

func (s *symbol) UnmarshalJSON(raw []byte) error {
	kind, body, err := union(raw)
	if err != nil {
		return err
	}
	switch kind {
	case "as_name":
		return json.Unmarshal(body, &s.Name)
	case "as_int":
		return json.Unmarshal(body, &s.Int)
	}
	return fmt.Errorf("%q is no kind of symbol", kind)
}
