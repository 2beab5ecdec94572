package onnx

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// jsonTensor is a tensor of cases.json. Its elements are numbers, or texts for
// those that JSON does not have.
type jsonTensor struct {
	Type  string
	Shape []int
	Data  []any
}

func (j jsonTensor) tensor() (*tensor.Tensor, error) {
	elem := proto.DataType(slices.Index(typeNames(), j.Type))
	dtype, err := dtypeOf(elem)
	if err != nil {
		return nil, err
	}
	t, err := tensor.Zeros(dtype, j.Shape...)
	if err != nil || len(j.Data) != t.Len() {
		return nil, fmt.Errorf("%v with %d elements: %v", j.Shape, len(j.Data), err)
	}
	for i, v := range j.Data {
		text := fmt.Sprint(v)
		if dtype == tensor.I64 {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, err
			}
			t.Int64()[i] = n
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		t.SetElem(i, x)
	}
	return t, nil
}

// A jsonCase is a model of a node or two, its inputs, and what it gives.
type jsonCase struct {
	Name, Oracle string
	Model        []byte
	Inputs       map[string]jsonTensor
	Outputs      []jsonTensor
}

func readCases(t testing.TB) []jsonCase {
	t.Helper()
	f, err := os.Open("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []jsonCase
	d := json.NewDecoder(f)
	d.UseNumber()
	if err := d.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c jsonCase) values(t testing.TB) map[string]*tensor.Tensor {
	t.Helper()
	values := make(map[string]*tensor.Tensor)
	for name, j := range c.Inputs {
		v, err := j.tensor()
		if err != nil {
			t.Fatal(err)
		}
		values[name] = v
	}
	return values
}

// Cases of operators that the distribution's test data lack, of ONNX Runtime's own,
// and of versions that differ; testdata/cases.py says where the values come from.
func TestCases(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			values := c.values(t)
			m, err := Read("case.onnx", c.Model)
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Graph(t.Context(), importer.Binding{Values: values})
			if err != nil {
				t.Fatal(err)
			}
			got, err := execute(p, values)
			if err != nil {
				t.Fatal(err)
			}
			for i, j := range c.Outputs {
				want, err := j.tensor()
				if err != nil {
					t.Fatal(err)
				}
				if err := nearTo(got[i], want); err != nil {
					t.Errorf("output %d: %v\n%v\n%v", i, err, got[i], want)
				}
			}
		})
	}
}

// nearTo is closeTo for values that were rounded in another order: near zero a
// difference of a few units in the last place of 1 counts for nothing.
func nearTo(got, want *tensor.Tensor) error {
	if err := closeTo(got, want); err == nil {
		return nil
	} else if !want.DType().IsFloat() || got.Len() != want.Len() || got.DType() != want.DType() {
		return err
	}
	for i := range got.Len() {
		if g, w := got.Elem(i), want.Elem(i); g != w && !(g-w <= 2e-6 && w-g <= 2e-6) {
			return closeTo(got, want)
		}
	}
	return nil
}
