package progen

// generics is what the specification says of type parameters.
var generics = []template{
	{`
type $@num interface { ~int | ~int8 | ~uint16 | ~float64; fmt.Stringer }
type $@n int8
func (n $@n) String() string { return fmt.Sprintf("n%d", int8(n)) }
type $@m float64
func (m $@m) String() string { return "m" }
func $@sum[A ~[]E, E $@num, R any](list A, zero R, add func(R, E) R) (R, string) {
	text := ""
	for i, e := range list {
		zero, text = add(zero, e*E(i+1)), text + e.String()
	}
	return zero, text
}`, `
$a, $b := $@sum([]$@n{1, $#, 100}, $(T), func(r $T, e $@n) $T { show(int(e), r); return $(T) })
show(1, $a); show(2, $b)
$c, $d := $@sum[[]$@m, $@m, []$@m](nil, nil, func(r []$@m, e $@m) []$@m { return append(r, e) })
show(3, $c); show(4, $d)
$f := $@sum[[]$@n, $@n, int]
fmt.Printf("%T\n", $f)`},
	{`
type $@setter[P any] interface { *P; Set(string) }
type $@s struct { text string; t $T }
func (s *$@s) Set(text string) { s.text += text }
func $@all[P any, PP $@setter[P]](words ...string) (list []P) {
	for i, w := range words {
		list = append(list, *new(P))
		PP(&list[i]).Set(w)
		var p PP = &list[0]
		p.Set("!")
	}
	return list
}`, `
show($#, $@all[$@s]("a", "b", $(string)))`},
	{`
type $@list[E any] struct { head *$@node[E]; n int }
type $@node[E any] struct { e E; next *$@node[E] }
func (l *$@list[E]) Push(e E) *$@list[E] { l.head = &$@node[E]{e, l.head}; l.n++; return l }
func (l *$@list[E]) All() iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		i := 0
		for n := l.head; n != nil; n = n.next {
			if !yield(i, n.e) { return }
			i++
		}
	}
}
func $@mapped[E, R any](l *$@list[E], f func(E) R) *$@list[R] {
	var r $@list[R]
	for _, e := range l.All() { r.Push(f(e)) }
	return &r
}
type $@pair[A comparable, B any] struct { $@both[A, B]; n int }
type $@both[A comparable, B any] struct { A A; B B }
func (b $@both[A, B]) Is(a A) bool { return b.A == a }
func (b *$@both[A, B]) Swap(o B) (old B) { old, b.B = b.B, o; return }`, `
$l := new($@list[$T]).Push($(T)).Push($(T))
for i, p := range $@mapped($l, func(t $T) $@pair[$K, $T] { return $@pair[$K, $T]{n: $#, $@both: $@both[$K, $T]{B: t}} }).All() {
	show(i, p); detail(1, p)
	show(2, p.Is($(K))); show(3, p.Swap($(T))); show(4, p.B)
	f := (*$@pair[$K, $T]).Swap
	show(5, f(&p, $(T)))
	if i == $# { break }
}
show(6, $l.n); show(7, $@list[$@both[int, $T]]{}.n)
$push := $l.Push
$push($(T)).Push($(T))
show(8, $l.n); show(9, $l.head.next.e)`},
	{`
func $@kind[P any](p P, list ...P) string {
	switch x := any(p).(type) {
	case int, string: return fmt.Sprintf("basic %v", x)
	case []P: return "list"
	case interface { Len() int }: return fmt.Sprint("len ", x.Len())
	case nil: return "nil"
	}
	switch any(list).(type) {
	case []int8: return "int8s"
	case []any: return "anys"
	case []error: return "errors"
	case [][]P: return "never"
	}
	return fmt.Sprintf("%T of %d", p, len(list))
}
type $@l []$T
func (l $@l) Len() int { return len(l) }`, `
show(1, $@kind($(T))); show(2, $@kind($@l{$(T)})); show(3, $@kind[any](nil)); show(4, $@kind[any]($(K)))
show(5, $@kind(int8($#), 1)); show(6, $@kind[error](nil, nil)); show(7, $@kind("s")); show(8, $@kind([]$T{}, nil))`},
	{`
func $@same[P comparable](a, b P) (n int) {
	if a == b { n++ }
	if m := map[P]int{a: 1, b: 2}; m[a] == 2 { n += 10 }
	if [1]P{a} == [1]P{b} { n += 100 }
	if any(a) == any(b) { n += 1000 }
	if (struct { p P; n int }{a, 1}) == (struct { p P; n int }{b, 1}) { n += 10000 }
	var zero P
	if a != zero { n += 100000 }
	return n
}`, `
show(1, $@same($(K), $(K))); show(2, $@same($(F), $(F))); show(3, $@same[any]($(K), $(K))); show(4, $@same(&[]int{1}[0], nil))
show(5, $@same([2]$K{$(K)}, [2]$K{$(K)}))
func() {
	defer caught(6)
	show(7, $@same[any]([]int{$#}, []int{$#}))
}()`},
	{`
func $@part[P ~string | ~[]byte](p P, i, j int) (P, byte, int, string) {
	var n int
	for k := range len(p) { n += int(p[k]) * k }
	_ = string(p)[i:j] // how much room a conversion makes behind the bytes is not specified
	return p[i:j], p[i], n, string(p)
}
type $@text string
type $@bytes []byte`, `
func() {
	defer caught(1)
	$a, $b, $c, $d := $@part($[$@text$|$@bytes$|string$|[]byte$]($(string) + "zz"), $# % 2, 2+$#)
	show(2, $a); show(3, $b); show(4, $c); show(5, $d)
}()`},
	{`
func $@arith[P ~int8 | ~uint8 | ~int32 | ~uint64, Q ~float32 | ~float64](p P, q Q, n uint) (P, Q, bool) {
	p = p<<n | p>>1 ^ ^p &^ 3
	p += P(len("ab")) * p
	p++
	q = -q/3 + Q(n)
	return max(p, 7, p/3), min(q, 100) * 2, p-1 < p && q <= q
}
type $@u uint8`, `
$a, $b, $c := $@arith($[int8$|uint8$|$@u$|int32$|uint64$](1<<$#), $(F), $#)
show(1, $a); show(2, $b); show(3, $c)`},
	{`
type $@ord[P any] interface { Less(P) bool }
type $@age int
func (a $@age) Less(b $@age) bool { return a < b }
func $@sort[P $@ord[P]](list ...P) []P {
	for i := range list {
		for j := range i {
			if list[i].Less(list[j]) { list[i], list[j] = list[j], list[i] }
		}
	}
	return list
}
type $@adder[A $@adder[A]] interface { Add(A) A }
func (a $@age) Add(b $@age) $@age { return a + b }
func $@total[A $@adder[A]](first A, rest ...A) A {
	for _, r := range rest { first = first.Add(r) }
	return first
}`, `
show($#, $@sort[$@age](3, $#, 5, $#, 1)); show(1, $@total($@age($#), 2, 3)); show(2, $@sort[$@age]())`},
	{`
func $@deep[P any](n int, p P) string {
	if n == 0 { return fmt.Sprintf("%T", p) }
	return $@deep(n-1, p)
}
func $@closed[P, Q any](p P) (func(Q) (P, []Q), *int) {
	var seen []Q
	n := 0
	return func(q Q) (P, []Q) {
		n++
		seen = append(seen, q)
		return p, seen
	}, &n
}
func $@send[C ~chan E, E any](c C, e ...E) (n int) {
	for _, x := range e { c <- x }
	close(c)
	for range c { n++ }
	return n + cap(c)
}
func $@keys[M ~map[K]V, K cmp.Ordered, V any](m M) (keys []K) {
	for k := range m { keys = append(keys, k) }
	slices.Sort(keys)
	return keys
}
type $@m map[string]$T`, `
show(1, $@deep($#, $(T))); show(2, $@deep(0, [3]map[string]chan<- $T{}))
$f, $n := $@closed[$T, $K]($(T))
for range $# { $f($(K)) }
show(4, *$n)
show(5, $@send(make(chan $T, 3), $(T), $(T))); show(6, $@keys($@m{"b": $(T), "a": $(T)}))`},
	{`
type $@set[E comparable] map[E]struct{}
func (s $@set[E]) Add(list ...E) $@set[E] { for _, e := range list { s[e] = struct{}{} }; return s }
func (s $@set[E]) Has(e E) bool { _, ok := s[e]; return ok }
type $@fn[A, B any] func(A) B
func (f $@fn[A, B]) Then(g $@fn[B, B]) $@fn[A, B] { return func(a A) B { return g(f(a)) } }
type $@opt[V any] struct { v *V }
func $@some[V any](v V) $@opt[V] { return $@opt[V]{&v} }
func (o $@opt[V]) Or(v V) V { if o.v == nil { return v }; return *o.v }
type $@matrix[E ~int | ~float64] [2][2]E
func (m $@matrix[E]) Mul(o $@matrix[E]) (r $@matrix[E]) {
	for i := range m { for j := range m[i] { for k := range o { r[i][j] += m[i][k] * o[k][j] } } }
	return
}`, `
$s := $@set[$K]{}.Add($(K), $(K))
show(len($s), $s.Has($(K)))
show(1, $@fn[$T, int](func(t $T) int { show(2, t); return $# }).Then(func(n int) int { return n * 3 })($(T)))
show(3, $@some($(T)).Or($(T))); show(4, $@opt[$T]{}.Or($(T))); show(5, $@some($@some($(K))).Or($@opt[$K]{}).Or($(K)))
show(6, $@matrix[int]{{1, $#}, {$#, 2}}.Mul($@matrix[int]{{1, 1}, {$#, 0}}))
fmt.Printf("%T %T %T\n", $s, $@opt[$@set[$K]]{}, $@fn[string, []$T](nil))`},
}
