package loop

import "slices"

// steps are the steps of everything in a stage that depends on the loop dimensions,
// so that dimensions can be joined for all at once.
func (s Stage) steps() []*[]int {
	var list []*[]int
	access := func(a *Access) {
		list = append(list, &a.Strides)
		for i := range a.Guards {
			list = append(list, &a.Guards[i].Strides)
		}
	}
	visit := func(x *Expr) {
		switch x.Op {
		case Load:
			access(x.Access)
		case Index, Inside:
			list = append(list, &x.Affine.Strides)
		}
	}
	s.Expr.Walk(visit)
	if s.Store != nil {
		access(s.Store)
		for _, g := range s.Store.Gathers {
			g.Index.Walk(visit)
		}
	}
	return list
}

// merge joins neighbouring dimensions where every walk over them has one step for
// both, and leaves at least one.
func merge(shape []int, walks []*[]int) []int {
	var dims []int
	steps := make([][]int, len(walks))
	for i, d := range shape {
		if d == 1 {
			continue
		}
		last := len(dims) - 1
		joins := last >= 0
		for k, w := range walks {
			joins = joins && steps[k][last] == (*w)[i]*d
		}
		if joins {
			dims[last] *= d
		} else {
			dims = append(dims, d)
			last++
		}
		for k, w := range walks {
			steps[k] = append(steps[k][:last], (*w)[i])
		}
	}
	if len(dims) == 0 {
		dims = []int{1}
		for k := range steps {
			steps[k] = []int{0}
		}
	}
	for k, w := range walks {
		*w = steps[k]
	}
	return dims
}

// foldOuter makes neighbouring outer dimensions one where every walk has one step
// for both, and moves the longest of the last two to the end, so that there are
// enough of its points for lanes.
func (n *Nest) foldOuter() {
	count := len(n.Outer)
	var walks []*[]int
	for _, s := range n.Stages {
		for _, w := range s.steps() {
			if !slices.Contains(walks, w) { // stages may share an access
				walks = append(walks, w)
			}
		}
	}
	heads := make([]*[]int, len(walks))
	for i, w := range walks {
		head := (*w)[:count:count]
		heads[i] = &head
	}
	n.Outer = merge(n.Outer, heads)
	last := len(n.Outer) - 1
	if last > 0 && n.Outer[last] < shortLine && n.Outer[last-1] > n.Outer[last] {
		n.Outer[last-1], n.Outer[last] = n.Outer[last], n.Outer[last-1]
		swap(heads, last)
	}
	for i, w := range walks {
		*w = append(slices.Clone(*heads[i]), (*w)[count:]...)
	}
}

// shortLine is a number of points that leaves most lanes of wide vectors empty.
const shortLine = 8

// swap exchanges dimension i with the one before it.
func swap(walks []*[]int, i int) {
	var done []*[]int
	for _, w := range walks {
		if !slices.Contains(done, w) { // expressions may share an access
			(*w)[i-1], (*w)[i] = (*w)[i], (*w)[i-1]
			done = append(done, w)
		}
	}
}
