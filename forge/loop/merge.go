package loop

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
