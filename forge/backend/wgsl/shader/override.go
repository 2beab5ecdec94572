package shader

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// overrides gives every override its value, with a key for them all.
func (m *Module) overrides(set map[string]float64) (map[*check.Var][]uint64, string, error) {
	values, key := map[*check.Var][]uint64{}, ""
	known := map[string]bool{}
	for _, v := range m.module.Overrides {
		name := v.Name
		if v.ID >= 0 {
			name = strconv.Itoa(v.ID)
		}
		known[name] = true
		if f, ok := set[name]; ok {
			w, err := overrideWord(v, f)
			if err != nil {
				return nil, "", err
			}
			values[v] = []uint64{w}
		}
	}
	for _, v := range m.module.Overrides {
		if values[v] == nil && v.Init != nil {
			if err := resolve(v, values); err != nil {
				return nil, "", err
			}
		}
		if values[v] != nil {
			key += fmt.Sprintf("%s=%x,", v.Name, values[v][0])
		}
	}
	var unknown []string
	for name := range set {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	if len(unknown) > 0 {
		return nil, "", refuse("the module has no override '%s'", unknown[0])
	}
	return values, key, nil
}

// resolve computes an override's initial value, after those that it names.
func resolve(v *check.Var, values map[*check.Var][]uint64) error {
	var need func(x *check.Expr) error
	need = func(x *check.Expr) error {
		if x.Op == check.Override && values[x.Var] == nil {
			if x.Var.Init == nil {
				return refuse("override '%s' has no value", x.Var.Name)
			}
			return resolve(x.Var, values)
		}
		for _, a := range x.Args {
			if err := need(a); err != nil {
				return err
			}
		}
		return nil
	}
	if err := need(v.Init); err != nil {
		return err
	}
	words, wrong := v.Init.Resolve(values)
	if wrong != "" {
		return syntax.Errorf(v.Init.Pos, "%s", wrong)
	}
	values[v] = words
	return nil
}

func overrideWord(v *check.Var, f float64) (uint64, error) {
	bad := refuse("value %v cannot be represented as '%s' of override '%s'", f, v.Type, v.Name)
	switch v.Type.Kind {
	case check.Bool:
		return uint64(truth(f != 0 && f == f)), nil
	case check.I32, check.U32:
		low, high := float64(math.MinInt32), float64(math.MaxInt32)
		if v.Type.Kind == check.U32 {
			low, high = 0, math.MaxUint32
		}
		if t := math.Trunc(f); t >= low && t <= high {
			return uint64(uint32(int64(t))), nil
		}
		return 0, bad
	}
	if v.Type.Kind == check.F16 {
		f = check.RoundF16(f)
	}
	if math.IsInf(float64(float32(f)), 0) || f != f {
		return 0, bad
	}
	return uint64(word(float32(f))), nil
}
