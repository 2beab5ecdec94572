package progen

// concurrent is goroutines, channels and what package sync makes of them; what
// they do commutes.
var concurrent = []template{
	{"", `
var $n chan int
$c := make(chan $T, 3)
$c <- $(T); $c <- $(T); close($c)
for $k := 0; $k < 3; $k++ {
	select {
	case v := <-$n: show(1, v)
	case v, ok := <-$c: show(2, v); show(3, ok)
	}
}
select { case $n <- 1: show(4, 0); default: show(5, 0) }
func() { defer caught(6); $[$c <- $(T)$|close($c)$|select { case $c <- $(T): default: }$] }()`},
	{"", `
$c, $d := make(chan $T, 1), make(chan int, 1)
$f := func(k int) chan $T { show(k, "channel"); return $c }
$x, $a := 0, []int{0, 0, 0, 0}
select {
case $f(1) <- trace(2, $(T)): show(3, len($c))
case $a[$x] = <-func() chan int { show(4, "other"); return $d }(): show(5, $x)
}
$d <- $#
select { case $x = <-$d: }
$d <- 5
select { case $a[$x], $[_$|*new(bool)$] = <-$d: show($x, $a) }`},
	{"", `
var $w sync.WaitGroup
var $m sync.Mutex
var $o sync.Once
var $t atomic.Int64
$all := map[int]$T{}
for $i := range 4 {
	$w.Go(func() {
		defer func() { recover() }()
		$m.Lock()
		defer $m.Unlock()
		$all[$i] = $(T)
		$o.Do(func() { $t.Add(100) })
		if $t.Add(int64($i)); $i == $# { panic("lost") }
	})
}
$w.Wait()
show(int($t.Load()), $all)`},
	{"", `
$gen := func(n int) <-chan int { c := make(chan int); go func() { defer close(c); for i := range n { c <- i } }(); return c }
$sq := func(in <-chan int) <-chan int { out := make(chan int, 1); go func() { for x := range in { out <- x * x }; close(out) }(); return out }
$sum := 0
for x := range $sq($sq($gen(3 + $#))) { $sum += x }
show(1, $sum)
$done, $res := make(chan struct{}), make(chan $T)
go func() { select { case $res <- $(T): case <-$done: } }()
$[close($done)$|show(2, <-$res)$]
$e := make(chan error, 1)
go func() { defer func() { $e <- fmt.Errorf("%v", recover()) }(); $[panic($(T))$|var m map[int]int; m[0] = 1$|runtime.Goexit()$] }()
show(3, <-$e)`},
	{"", `
$c := make(chan func() $T)
go func() { for i := range 3 { $c <- func() $T { if i == $# { return $(T) }; return $(T) } }; close($c) }()
for f := range $c { show(1, f()) }
$mu, $ready := sync.Mutex{}, false
$cond := sync.NewCond(&$mu)
go func() { $mu.Lock(); $ready = true; $mu.Unlock(); $cond.Broadcast() }()
$mu.Lock()
for !$ready { $cond.Wait() }
$mu.Unlock()
show(2, $ready)
$ov := sync.OnceValue(func() $T { show(3, "once"); return $(T) })
show(4, $ov()); show(5, $ov())`},
}

// failures are run-time errors and the values that are nil.
var failures = []template{
	{`
type $@v struct { t $T; n int }
func (v $@v) Val() int { return v.n }
func (v *$@v) Ptr() bool { return v == nil }
type $@i interface { Val() int; Ptr() bool }`, `
for i, f := range []func(){
	func() { var p *$@v; show(1, p.Ptr()); show(2, p.Val()) },
	func() { for _, i := range []$@i{(*$@v)(nil)} { show(3, i.Ptr()); show(4, i.Val()) } },
	func() { var i $@i; show(5, i.Ptr()) },
	func() { var i $@i; _ = i.Val },
	func() { var p *$@v; f := p.Ptr; show(6, f()); g := p.Val; show(7, g()) },
	func() { var i $@i = (*$@v)(nil); f := i.Val; show(8, f()) },
	func() { f := $@i.Val; show(9, f(nil)) },
	func() { var p *struct { a [4]$T; $@v }; show(10, p.Val()) },
	func() { var p *[3]$T; show(11, len(p)); for i := range p { show(i, "index") }; for _, v := range p { show(12, v) } },
	func() { var p *[3]$T; show(13, p[:]) },
	func() { var x any = $@v{}; _ = x.($@i) },
	func() { var x any = $@i(&$@v{}); _ = x.(interface { Val() string }) },
	func() { var x $@i = &$@v{}; _ = x.(interface { $@i; None() }) },
	func() { var x any = "s"; _ = x.($@v) },
	func() { var x fmt.Stringer; _ = x.(error) },
} {
	func() { defer caught(i); f() }()
}`},
	{"", `
$a, $z := $(N), $N($#) &^ 3
for i, f := range []func() $N{
	func() $N { return $a / $z }, func() $N { return $a % ($z + 3) }, func() $N { $a /= $z + 1; return $a }, func() $N { return $a % $z },
	func() $N { s := []$N{1, 2}; return s[$a] }, func() $N { s := [3]$N{}; return s[$a&7] }, func() $N { return $N("abc"[$a&7]) }, func() $N { return ($a | 1) / ^$N(0) * $a },
	func() $N { s := make([]$N, $a&7, 4); return $N(len(s[:$a&7:4])) }, func() $N { s := []$N{1, 2, 3}; return s[$a&3:][$a&3:][0] },
} {
	func() { defer caught(i); show(i, f()) }()
}`},
	{"", `
$i, $j := $#, $# + $#
$s, $p, $t := make([]$T, 2, 3), &[2]$T{}, "abc"
for i, f := range []func(){
	func() { show(1, $s[$i]) }, func() { show(2, $s[$i:$j]) }, func() { show(3, len($s[$i:$j:$j])) }, func() { show(4, $p[$i]) }, func() { show(5, $p[$i:$j]) },
	func() { show(6, $t[$i:$j]) }, func() { show(7, $t[-$i]) }, func() { $s[$j] = $(T); show(8, $s) }, func() { show(9, $s[$i:]) }, func() { show(10, [3]$T($s[:$i])) },
	func() { show(11, len(make([]$T, $i-1, $j))) }, func() { show(12, $p[$i:2:$j]) }, func() { show(13, $s[:$j-2]) }, func() { show(14, append($s[:$i], $s[$j:]...)) }, func() { show(15, $t[$j]) },
} {
	func() { defer caught(i); f() }()
}`},
	{"", `
for i, f := range []func(){
	func() { show(1, any($(T)) == any([]int{$#})) }, func() { show(2, any(func() {}) == nil) }, func() { show(3, any([]int{1}) == any([]int{1})) },
	func() { show(4, any([1]any{$[[]int{}$|$(T)$]}) == any([1]any{[]int{}})) }, func() { show(5, struct { a int; b any }{$#, []int{}} == struct { a int; b any }{1, []int{}}) },
	func() { m := map[any]int{}; m[[2]any{1, $[$(K)$|map[int]int{}$]}]++; show(6, len(m)) }, func() { var m map[$K]$T; delete(m, $(K)); m[$(K)] = $(T) },
	func() { var m map[any]int; show(7, m[$[$(K)$|func() {}$]]) }, func() { var f func() $T; show(8, f()) },
} {
	func() { defer caught(i); f() }()
}`},
}

// hosted are compiled packages that look at values of cells or call them back.
var hosted = []template{
	{"", `
$x := struct { A $T; B []$N; C map[string]$U; D any; e *int; F func(); G error; H [2]$F }{A: $(T), B: []$N{1, $(N)}, C: map[string]$U{"k": $(U)}, D: $(K), G: errBase, H: [2]$F{$(F)}}
$x.G = nil
fmt.Printf("%v|%+v\n", $x, $x)
fmt.Printf("%#v %T\n", $x.A, $x.A)
fmt.Printf("%v %+v %d %s %q %x %X %t %5v|%-5v|%05d %U %c %o %b %e %8.3f %t\n", $(T), $(T), $(T), $(string), $(string), $(string), $(N), $(bool), $(N), $(N), $(N), $#+65, $#+65, $(N), $(N), $(F), $(F), $(N))
fmt.Printf("%d %s %!|%[2]v %[1]*d %v %d\n", $(N), $(U), &struct { t $T }{$(T)}, &[]$T{$(T)})
fmt.Println($(T), &map[string]$T{"a": $(T)}, [2]any{$(U)}, []error{nil, errBase}, []byte("x"), [2]byte{1}, $x.e == nil)
fmt.Print($(N), $(N), "s", $(bool), nil, "\n")
fmt.Printf("%6.2v|%+d|% d|%#x|%#o|%+q|%x|% x|%v\n", $(F), $(N), $(N), $(N), $(N), $(string), $(string), $(string), []any{nil, $(T)})`},
	{`
type $@s struct { A $T; n int }
func (s $@s) String() string { return "S" + fmt.Sprint(s.n) }
type $@g struct { A $T; n int }
func (g *$@g) GoString() string { return "G" }
func (g $@g) Format(f fmt.State, verb rune) { w, ok := f.Width(); fmt.Fprintf(f, "{%c %v %v %v}", verb, w, ok, f.Flag('+')) }
type $@e $N
func (e $@e) Error() string { return fmt.Sprintf("E%d", $N(e)) }
type $@p struct { s string }
func (p *$@p) String() string { if p == nil { return "nil p" }; return "P" + p.s }
func (p $@p) unexported() { }
type $@x struct { n int }
func (x $@x) String() string { panic($[$(T)$|errBase$]) }`, `
$s, $g, $e, $p := $@s{$(T), $#}, $@g{n: $#}, $@e($(N)), $@p{"p"}
fmt.Printf("%v %+v %s %d %q %x\n", $s, $s, $s, $s.n, $s, $s)
fmt.Printf("%v %+5v %#v %d\n", $g, $g, &$g, $g)
fmt.Printf("%v %d %s %+v %T\n", $e, $e, $e, struct { error; n int }{$e, 1}.error, $e)
fmt.Println($p, &$p, []$@p{$p}, (*$@p)(nil), []any{$s, &$p, $e}, map[$@e]$@s{$e: $s}, struct { x $@s; Y $@s }{$s, $s})
fmt.Printf("%v %s\n", $@x{}, []any{$@x{}, $s}); fmt.Println(fmt.Sprintf("%v|%s", [2]$@s{$s}, []$@e{$e}))`},
	{`
type $@by []struct { n int; t $T }
func (b $@by) Len() int { return len(b) }
func (b $@by) Less(i, j int) bool { return b[i].n < b[j].n }
func (b $@by) Swap(i, j int) { b[i], b[j] = b[j], b[i] }`, `
$b := $@by{{3, $(T)}, {$#, $(T)}, {5, $(T)}}
sort.Stable($b)
show(1, $b)
sort.SliceStable($b, func(i, j int) bool { return $b[i].n%3 > $b[j].n%3 })
show(2, $b)
slices.SortStableFunc($b, func(x, y struct { n int; t $T }) int { return cmp.Compare(y.n, x.n) })
show(3, $b)
$i, $ok := slices.BinarySearchFunc([]int{1, 3, 5}, $#, func(a, b int) int { return a - b })
show($i, $ok); show(4, slices.IndexFunc($b, func(x struct { n int; t $T }) bool { return x.n == $# }))
show(5, strings.Map(func(r rune) rune { if r == 'a' { return -1 }; return r + 1 }, $(string)))
show(6, strings.FieldsFunc("a1b2"+$(string), func(r rune) bool { return r < 'a' }))
show(7, slices.Sorted(maps.Values(map[string]int{"a": $#, "b": 2}))); show(8, slices.MaxFunc($b, func(x, y struct { n int; t $T }) int { return x.n - y.n }))
show(9, sort.Search(10, func(i int) bool { return i*i > $# }))`},
	{`
type $@e struct { code int; in error }
func (e *$@e) Error() string { return fmt.Sprint("code ", e.code) }
func (e *$@e) Unwrap() error { return e.in }
func (e *$@e) Is(other error) bool { o, ok := other.(*$@e); return ok && o.code == e.code }
type $@m string
func (m $@m) Error() string { return string(m) }`, `
var $err error = &$@e{$#, fmt.Errorf("wrap %w", $[errBase$|$@m("m")$|&$@e{7, nil}$])}
var $t *$@e
var $m $@m
show(1, errors.Is($err, errBase)); show(2, errors.As($err, &$t)); show(3, errors.As($err, &$m)); show(4, $m)
show(5, errors.Is($err, &$@e{code: 2})); show(6, $t.code); show(7, errors.Unwrap(errors.Unwrap($err)) == errBase)
$j := errors.Join($err, nil, $@m("joined"))
show(8, errors.Is($j, $@m("joined"))); show(9, strings.Count($j.Error(), "\n")); fmt.Println($j)
$u, $ok := errors.AsType[$@m]($j)
show(10, $u); show(11, $ok)`},
	{"\ntype $@j struct { A $N `json:\"a\"`; B string `json:\",omitempty\"`; C []$@k; D map[string]*$N; e int; F any; $@k }" + `
type $@k struct { X bool; Y float64 }
type $@l int
func (l $@l) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "l%d", int(l)), nil }
func (l *$@l) UnmarshalText(b []byte) error { *l = $@l(len(b)); return nil }`, `
$j := $@j{A: $(N), B: $(string), C: []$@k{{true, 1.5}}, F: $(bool), D: map[string]*$N{"k": new($N), "n": nil}}
$b, $err := json.Marshal($j)
show(1, string($b)); show(2, $err)
var $k $@j
show(3, json.Unmarshal($b, &$k)); show(4, $k.C); show(5, $k.A == $j.A); show(6, $k.X)
$b, $err = json.Marshal(map[$@l][]$@l{1: {2, 3}})
show(7, string($b)); show(8, $err)
var $m map[$@l]$@l
show(9, json.Unmarshal([]byte("{\"abc\": \"de\"}"), &$m)); show(10, $m)
show(11, json.Unmarshal([]byte("{\"a\": \"x\"}"), &$k))
var $a any
show(12, json.Unmarshal([]byte("[1, {\"a\": null}, \"s\"]"), &$a)); show(13, $a)`},
	{`
type $@r struct { n int; t $T; S string }
func (r $@r) Get(n int) string { return fmt.Sprint(r.n + n) }
func (r *$@r) Set(n int) { r.n = n }
type $@w struct { got []int }
func (w *$@w) Write(b []byte) (int, error) { w.got = append(w.got, len(b)); if len(w.got) > 3 { return 0, errBase }; return len(b), nil }`, `
$r := $@r{$#, $(T), "s"}
$t, $v := reflect.TypeOf($r), reflect.ValueOf(&$r)
show(1, $t.Name()); show(2, $t.Kind()); show(3, $t.NumMethod()); show(4, reflect.TypeOf(&$r).NumMethod()); show(5, $t.Field(1).Name)
$v.MethodByName("Set").Call([]reflect.Value{reflect.ValueOf(7)})
show(6, $v.Elem().MethodByName("Get").Call([]reflect.Value{reflect.ValueOf(1)})[0].String())
$v.Elem().FieldByName("S").SetString("set")
show(7, $r); show(8, reflect.DeepEqual($r, $@r{7, $r.t, "set"}))
show(9, reflect.DeepEqual([]$T{$(T)}, []$T{$(T)}))
show(10, reflect.Zero($t).Interface().($@r).n); show(11, reflect.TypeFor[map[string][]$@r]().String())
$w := &$@w{}
for i := range 3 { n, err := fmt.Fprintf($w, "%d %v", i, "x"); show(n, err) }
_, $err := io.WriteString($w, $(string))
show(12, $w.got); show(13, $err)
$sc := bufio.NewScanner(strings.NewReader("a b\nc"))
$sc.Split(bufio.ScanWords)
for $sc.Scan() { show(14, $sc.Text()) }
$n, $e := strconv.Atoi($(string))
show($n, $e)`},
}
