package layered

// arc is an edge between two vertices of a level.
type arc struct{ from, to int }

// feedback marks arcs whose reversal leaves the graph acyclic: those that
// point back along the path of a depth-first search. Arcs from a vertex to
// itself are not marked.
func feedback(n int, arcs []arc) []bool {
	out := make([][]int, n)
	indegree := make([]int, n)
	for i, a := range arcs {
		if a.from != a.to {
			out[a.from] = append(out[a.from], i)
			indegree[a.to]++
		}
	}
	const (
		unseen = iota
		onPath
		finished
	)
	state := make([]int, n)
	next := make([]int, n) // arc to follow next, per vertex
	back := make([]bool, len(arcs))
	visit := func(root int) {
		path := []int{root}
		state[root] = onPath
		for len(path) > 0 {
			v := path[len(path)-1]
			if next[v] == len(out[v]) {
				state[v] = finished
				path = path[:len(path)-1]
				continue
			}
			i := out[v][next[v]]
			next[v]++
			switch w := arcs[i].to; state[w] {
			case onPath:
				back[i] = true
			case unseen:
				state[w] = onPath
				path = append(path, w)
			}
		}
	}
	for v := range n { // true sources first: their edges keep their direction
		if indegree[v] == 0 {
			visit(v)
		}
	}
	for v := range n {
		if state[v] == unseen {
			visit(v)
		}
	}
	return back
}

// topological returns the vertices of an acyclic graph, sources first; equal
// ones keep their order.
func topological(n int, arcs []arc) []int {
	out := make([][]int, n)
	indegree := make([]int, n)
	for _, a := range arcs {
		out[a.from] = append(out[a.from], a.to)
		indegree[a.to]++
	}
	order := make([]int, 0, n)
	for v := range n {
		if indegree[v] == 0 {
			order = append(order, v)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, w := range out[order[i]] {
			if indegree[w]--; indegree[w] == 0 {
				order = append(order, w)
			}
		}
	}
	return order
}

// components numbers the connected components of a graph in order of their
// first vertex and returns the number of each vertex, and the count.
func components(n int, arcs []arc) (number []int, count int) {
	parent := make([]int, n)
	for v := range parent {
		parent[v] = v
	}
	find := func(v int) int {
		for parent[v] != v {
			parent[v] = parent[parent[v]]
			v = parent[v]
		}
		return v
	}
	for _, a := range arcs {
		x, y := find(a.from), find(a.to)
		parent[max(x, y)] = min(x, y)
	}
	number = make([]int, n)
	for v := range n {
		if root := find(v); root == v {
			number[v] = count
			count++
		} else {
			number[v] = number[root]
		}
	}
	return number, count
}
