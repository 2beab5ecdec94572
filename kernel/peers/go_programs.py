"""Loops that people write in notebooks, once as a Go cell and once as a Python cell.

Each program defines what it needs in one cell and is measured in another, whose value
is a number that both languages must agree on. Both do the same work with what their
language has for it; where Python has a faster idiom that Go has not (slices of bytes,
sums), the loop is measured and not the idiom.
"""

from typing import NamedTuple


class Program(NamedTuple):
    name: str
    go: str  # what the Go cell needs
    python: str
    run: str  # the measured cell, in both languages
    bar: float | None = None  # as a share of CPython's time


PROGRAMS = [
    Program("1e8 integer adds", """
func adds(n int) int {
	t := 0
	for i := 0; i < n; i++ { t += i }
	return t
}""", """
def adds(n):
    t = 0
    for i in range(n): t += i
    return t""", "adds(100_000_000)", 0.5),
    Program("fib(32)", """
func fib(n int) int {
	if n < 2 { return n }
	return fib(n-1) + fib(n-2)
}""", """
def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)""", "fib(32)", 0.5),
    Program("sum of 1e7 floats", """
xs := make([]float64, 10_000_000)
func sum1(xs []float64) (t float64) {
	for i := range xs { t += xs[i] }
	return
}""", """
xs = [0.0] * 10_000_000
def sum1(xs):
    t = 0.0
    for x in xs: t += x
    return t""", "sum1(xs)", 0.5),
    Program("map[int]int", """
func counts(n int) int {
	m := map[int]int{}
	for i := range n { m[i%1000]++ }
	return len(m)
}""", """
def counts(n):
    m = {}
    for i in range(n): m[i % 1000] = m.get(i % 1000, 0) + 1
    return len(m)""", "counts(1_000_000)"),
    Program("word counts", """
text := strings.Repeat("the quick brown fox jumps over the lazy dog and the cat ", 20_000)
func words() int {
	m := map[string]int{}
	for _, w := range strings.Fields(text) { m[w]++ }
	return m["the"]
}""", """
text = "the quick brown fox jumps over the lazy dog and the cat " * 20_000
def words():
    m = {}
    for w in text.split(): m[w] = m.get(w, 0) + 1
    return m["the"]""", "words()"),
    Program("range over a map", """
table := map[string]float64{}
for i := range 1000 { table[strconv.Itoa(i)] = float64(i) }
func total(n int) (t float64) {
	for range n {
		for _, v := range table { t += v }
	}
	return
}""", """
table = {str(i): float(i) for i in range(1000)}
def total(n):
    t = 0.0
    for _ in range(n):
        for v in table.values(): t += v
    return t""", "total(500)"),
    Program("methods", """
type acc struct{ n int }
func (a *acc) add(k int) { a.n += k }
func methods(n int) int {
	a := &acc{}
	for i := range n { a.add(i) }
	return a.n
}""", """
class Acc:
    def __init__(self): self.n = 0
    def add(self, k): self.n += k
def methods(n):
    a = Acc()
    for i in range(n): a.add(i)
    return a.n""", "methods(1_000_000)"),
    Program("interface calls", """
type shape interface{ area(k int) float64 }
type square struct{ side float64 }
func (s square) area(k int) float64 { return s.side * float64(k) }
func areas(n int) (t float64) {
	var s shape = square{2}
	for i := range n { t += s.area(i) }
	return
}""", """
class Square:
    def __init__(self, side): self.side = side
    def area(self, k): return self.side * k
def areas(n):
    s = Square(2.0)
    t = 0.0
    for i in range(n): t += s.area(i)
    return t""", "areas(1_000_000)"),
    Program("many shapes", """
type form interface{ size() float64 }
type rect struct{ w, h float64 }
type disc struct{ r float64 }
func (r *rect) size() float64 { return r.w * r.h }
func (d *disc) size() float64 { return 3 * d.r * d.r }
func sizes(n int) (t float64) {
	forms := []form{&rect{1, 2}, &disc{1}, &rect{2, 2}, &disc{2}}
	for i := range n { t += forms[i%4].size() }
	return
}""", """
class Rect:
    def __init__(self, w, h): self.w, self.h = w, h
    def size(self): return self.w * self.h
class Disc:
    def __init__(self, r): self.r = r
    def size(self): return 3 * self.r * self.r
def sizes(n):
    forms = [Rect(1.0, 2.0), Disc(1.0), Rect(2.0, 2.0), Disc(2.0)]
    t = 0.0
    for i in range(n): t += forms[i % 4].size()
    return t""", "sizes(1_000_000)"),
    Program("type switches", """
mixed := []any{1, "two", 3.0, true}
func kinds(n int) (t int) {
	for i := range n {
		switch v := mixed[i%4].(type) {
		case int: t += v
		case string: t += len(v)
		case float64: t += int(v)
		default: t++
		}
	}
	return
}""", """
mixed = [1, "two", 3.0, True]
def kinds(n):
    t = 0
    for i in range(n):
        v = mixed[i % 4]
        if type(v) is int: t += v
        elif type(v) is str: t += len(v)
        elif type(v) is float: t += int(v)
        else: t += 1
    return t""", "kinds(1_000_000)"),
    Program("closures", """
func counter(by int) func() int {
	n := 0
	return func() int { n += by; return n }
}
func closures(n int) int {
	next, t := counter(2), 0
	for range n { t += next() }
	return t
}""", """
def counter(by):
    n = 0
    def step():
        nonlocal n
        n += by
        return n
    return step
def closures(n):
    step, t = counter(2), 0
    for _ in range(n): t += step()
    return t""", "closures(1_000_000)"),
    Program("values of structs", """
type vec struct{ x, y, z float64 }
func (a vec) plus(b vec) vec { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func drift(n int) float64 {
	p, v := vec{}, vec{1, 2, 3}
	for range n { p = p.plus(v) }
	return p.z
}""", """
class Vec:
    __slots__ = ("x", "y", "z")
    def __init__(self, x, y, z): self.x, self.y, self.z = x, y, z
    def plus(self, b): return Vec(self.x + b.x, self.y + b.y, self.z + b.z)
def drift(n):
    p, v = Vec(0.0, 0.0, 0.0), Vec(1.0, 2.0, 3.0)
    for _ in range(n): p = p.plus(v)
    return p.z""", "drift(300_000)"),
    Program("slice of structs", """
type pt struct{ x, y float64 }
func move(n int) float64 {
	ps := make([]pt, 1000)
	for i := range n { p := &ps[i%1000]; p.x += 1; p.y += p.x }
	return ps[0].y
}""", """
class Pt:
    __slots__ = ("x", "y")
    def __init__(self): self.x = self.y = 0.0
def move(n):
    ps = [Pt() for _ in range(1000)]
    for i in range(n):
        p = ps[i % 1000]; p.x += 1; p.y += p.x
    return ps[0].y""", "move(1_000_000)"),
    Program("several results", """
func divmod(a, b int) (int, int, error) {
	if b == 0 { return 0, 0, errors.New("division by zero") }
	return a / b, a % b, nil
}
func divides(n int) (t int) {
	for i := range n {
		q, r, err := divmod(i, 7)
		if err != nil { return -1 }
		t += q + r
	}
	return
}""", """
def divmod1(a, b):
    if b == 0: raise ValueError("division by zero")
    return a // b, a % b
def divides(n):
    t = 0
    for i in range(n):
        q, r = divmod1(i, 7)
        t += q + r
    return t""", "divides(1_000_000)"),
    Program("append", """
func squares(n int) int {
	var list []int
	for i := range n { list = append(list, i*i) }
	return len(list)
}""", """
def squares(n):
    items = []
    for i in range(n): items.append(i * i)
    return len(items)""", "squares(1_000_000)"),
    Program("append of strings", """
func evens(n int) int {
	var list []string
	names := []string{"a", "b", "c", "d"}
	for i := range n { if s := names[i%4]; s != "c" { list = append(list, s) } }
	return len(list)
}""", """
def evens(n):
    items = []
    names = ["a", "b", "c", "d"]
    for i in range(n):
        s = names[i % 4]
        if s != "c": items.append(s)
    return len(items)""", "evens(1_000_000)"),
    Program("sort.Slice", """
func sorted1(n int) int {
	xs := make([]int, n)
	for i := range xs { xs[i] = i * 7919 % 100_003 }
	sort.Slice(xs, func(i, j int) bool { return xs[i] < xs[j] })
	return xs[n/2]
}""", """
import functools
def sorted1(n):
    xs = [i * 7919 % 100_003 for i in range(n)]
    xs.sort(key=functools.cmp_to_key(lambda a, b: a - b))
    return xs[n // 2]""", "sorted1(50_000)"),
    Program("slices.SortFunc", """
type row struct{ key int; name string }
func ordered(n int) int {
	rows := make([]row, n)
	for i := range rows { rows[i].key = i * 7919 % 100_003 }
	slices.SortFunc(rows, func(a, b row) int { return a.key - b.key })
	return rows[n/2].key
}""", """
class Row:
    def __init__(self, key): self.key = key; self.name = ""
def ordered(n):
    rows = [Row(i * 7919 % 100_003) for i in range(n)]
    rows.sort(key=functools.cmp_to_key(lambda a, b: a.key - b.key))
    return rows[n // 2].key""", "ordered(50_000)"),
    Program("channel ping-pong", """
func pingpong(n int) (t int) {
	ask, answer := make(chan int), make(chan int)
	go func() {
		for k := range ask { answer <- k + 1 }
		close(answer)
	}()
	for i := range n { ask <- i; t += <-answer }
	close(ask)
	<-answer
	return
}""", """
import queue, threading
ask, answer = queue.SimpleQueue(), queue.SimpleQueue()
def respond():
    while True: answer.put(ask.get() + 1)
threading.Thread(target=respond, daemon=True).start()
def pingpong(n):
    t = 0
    for i in range(n):
        ask.put(i)
        t += answer.get()
    return t""", "pingpong(20_000)"),
    Program("workers and a mutex", """
func locked(n int) (t int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range n { mu.Lock(); t += i; mu.Unlock() }
		}()
	}
	wg.Wait()
	return
}""", """
import threading
def locked(n):
    t = 0
    mu = threading.Lock()
    def work():
        nonlocal t
        for i in range(n):
            with mu: t += i
    for _ in range(4): work()
    return t""", "locked(50_000)"),
    Program("iterators", """
func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ { if !yield(i) { return } }
	}
}
func iterated(n int) (t int) {
	for x := range upTo(n) { t += x }
	return
}""", """
def up_to(n):
    i = 0
    while i < n:
        yield i
        i += 1
def iterated(n):
    t = 0
    for x in up_to(n): t += x
    return t""", "iterated(1_000_000)"),
    Program("matrix product", """
func matrix(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
		for j := range m[i] { m[i][j] = float64(i + j) }
	}
	return m
}
func matmul(n int) float64 {
	a, b, c := matrix(n), matrix(n), matrix(n)
	for i := range n {
		for j := range n {
			s := 0.0
			for k := range n { s += a[i][k] * b[k][j] }
			c[i][j] = s
		}
	}
	return c[n-1][n-1]
}""", """
def matrix(n): return [[float(i + j) for j in range(n)] for i in range(n)]
def matmul(n):
    a, b, c = matrix(n), matrix(n), matrix(n)
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n): s += a[i][k] * b[k][j]
            c[i][j] = s
    return c[n-1][n-1]""", "matmul(100)"),
    Program("sieve", """
func sieve(n int) (count int) {
	composite := make([]bool, n)
	for i := 2; i < n; i++ {
		if composite[i] { continue }
		count++
		for j := i * i; j < n; j += i { composite[j] = true }
	}
	return
}""", """
def sieve(n):
    composite, count = [False] * n, 0
    for i in range(2, n):
        if composite[i]: continue
        count += 1
        for j in range(i * i, n, i): composite[j] = True
    return count""", "sieve(500_000)"),
    Program("runes of a string", """
poem := strings.Repeat("Füße und Bäume, and all the vowels of a text. ", 10_000)
func vowels() (n int) {
	for _, r := range poem {
		switch r {
		case 'a', 'e', 'i', 'o', 'u': n++
		}
	}
	return
}""", """
poem = "Füße und Bäume, and all the vowels of a text. " * 10_000
def vowels():
    n = 0
    for r in poem:
        if r in "aeiou": n += 1
    return n""", "vowels()"),
    Program("bytes of a string", """
dna := strings.Repeat("GATTACA", 100_000)
func guanine() (n int) {
	for i := 0; i < len(dna); i++ { if dna[i] == 'G' { n++ } }
	return
}""", """
dna = "GATTACA" * 100_000
def guanine():
    n = 0
    for i in range(len(dna)):
        if dna[i] == "G": n += 1
    return n""", "guanine()"),
    Program("edit distance", """
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row { row[j] = j }
	for i := 1; i <= len(a); i++ {
		before := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := before
			if a[i-1] != b[j-1] { cost++ }
			before = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
left, right := strings.Repeat("kitten", 60), strings.Repeat("sitting", 60)""", """
def distance(a, b):
    row = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        before = row[0]
        row[0] = i
        for j in range(1, len(b) + 1):
            cost = before
            if a[i-1] != b[j-1]: cost += 1
            before = row[j]
            row[j] = min(cost, row[j] + 1, row[j-1] + 1)
    return row[len(b)]
left, right = "kitten" * 60, "sitting" * 60""", "distance(left, right)"),
    Program("math.Sqrt and Sin", """
func waves(n int) (t float64) {
	for i := range n { t += math.Sqrt(float64(i)) + math.Sin(float64(i)) }
	return math.Floor(t)
}""", """
import math
def waves(n):
    t = 0.0
    for i in range(n): t += math.sqrt(i) + math.sin(i)
    return math.floor(t)""", "waves(500_000)"),
    Program("random numbers", """
rng := rand.New(rand.NewSource(1))
func inside(n int) int {
	hits := 0
	for range n { x, y := rng.Float64(), rng.Float64(); if x*x+y*y <= 4 { hits++ } }
	return hits
}""", """
import random
rng = random.Random(1)
def inside(n):
    hits = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x*x + y*y <= 4: hits += 1
    return hits""", "inside(300_000)"),
    Program("n bodies", """
type body struct{ x, y, z, vx, vy, vz, mass float64 }
func nbody(steps int) float64 {
	var bodies []*body
	for i := range 5 {
		f := float64(i)
		bodies = append(bodies, &body{f * 3, f + 1, f / 2, f / 7, f / 5, f / 3, f + 1})
	}
	for range steps {
		for i, a := range bodies {
			for _, b := range bodies[i+1:] {
				dx, dy, dz := a.x-b.x, a.y-b.y, a.z-b.z
				d2 := dx*dx + dy*dy + dz*dz
				mag := 0.001 / (d2 * math.Sqrt(d2))
				a.vx -= dx * b.mass * mag
				a.vy -= dy * b.mass * mag
				a.vz -= dz * b.mass * mag
				b.vx += dx * a.mass * mag
				b.vy += dy * a.mass * mag
				b.vz += dz * a.mass * mag
			}
		}
		for _, b := range bodies {
			b.x += 0.001 * b.vx
			b.y += 0.001 * b.vy
			b.z += 0.001 * b.vz
		}
	}
	return math.Floor(bodies[0].x * 1e6)
}""", """
class Body:
    def __init__(self, *v): self.x, self.y, self.z, self.vx, self.vy, self.vz, self.mass = v
def nbody(steps):
    bodies = [Body(f * 3, f + 1, f / 2, f / 7, f / 5, f / 3, f + 1) for f in map(float, range(5))]
    for _ in range(steps):
        for i, a in enumerate(bodies):
            for b in bodies[i+1:]:
                dx, dy, dz = a.x-b.x, a.y-b.y, a.z-b.z
                d2 = dx*dx + dy*dy + dz*dz
                mag = 0.001 / (d2 * math.sqrt(d2))
                a.vx -= dx * b.mass * mag
                a.vy -= dy * b.mass * mag
                a.vz -= dz * b.mass * mag
                b.vx += dx * a.mass * mag
                b.vy += dy * a.mass * mag
                b.vz += dz * a.mass * mag
        for b in bodies:
            b.x += 0.001 * b.vx
            b.y += 0.001 * b.vy
            b.z += 0.001 * b.vz
    return math.floor(bodies[0].x * 1e6)""", "nbody(5_000)"),
    Program("WriteByte", """
func build(n int) int {
	var b strings.Builder
	for i := range n { b.WriteByte(byte('a' + i%26)) }
	return b.Len()
}""", """
import io
def build(n):
    b = io.StringIO()
    for i in range(n): b.write(chr(97 + i % 26))
    return len(b.getvalue())""", "build(1_000_000)"),
    Program("WriteString and Itoa", """
func report(n int) int {
	var b strings.Builder
	for i := range n {
		b.WriteString("line ")
		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\\n')
	}
	return len(b.String())
}""", """
def report(n):
    b = io.StringIO()
    for i in range(n):
        b.write("line ")
        b.write(str(i))
        b.write("\\n")
    return len(b.getvalue())""", "report(300_000)"),
    Program("+= of strings", """
func joined(n int) (t int) {
	for range n {
		s := ""
		for i := range 100 { s += string(rune('a' + i%26)) }
		t += len(s)
	}
	return
}""", """
def joined(n):
    t = 0
    for _ in range(n):
        s = ""
        for i in range(100): s += chr(97 + i % 26)
        t += len(s)
    return t""", "joined(5_000)"),
    Program("Atoi and Itoa", """
func digits(n int) (t int) {
	for i := range n {
		k, err := strconv.Atoi(strconv.Itoa(i))
		if err != nil { return -1 }
		t += k
	}
	return
}""", """
def digits(n):
    t = 0
    for i in range(n):
        try: t += int(str(i))
        except ValueError: return -1
    return t""", "digits(300_000)"),
    Program("Sprintf", """
func lines(n int) (t int) {
	for i := range n { t += len(fmt.Sprintf("%d: %s %.2f", i, "item", float64(i)/3)) }
	return
}""", """
def lines(n):
    t = 0
    for i in range(n): t += len("%d: %s %.2f" % (i, "item", i / 3))
    return t""", "lines(200_000)"),
    Program("functions of strings", """
func cleaned(n int) (t int) {
	for range n {
		s := strings.TrimSpace("  Key = Value, and more ")
		k, v, _ := strings.Cut(s, "=")
		if strings.HasPrefix(strings.ToLower(k), "key") && strings.Contains(v, "more") { t += len(strings.Split(v, ",")) }
	}
	return
}""", """
def cleaned(n):
    t = 0
    for _ in range(n):
        s = "  Key = Value, and more ".strip()
        k, _, v = s.partition("=")
        if k.lower().startswith("key") and "more" in v: t += len(v.split(","))
    return t""", "cleaned(100_000)"),
    Program("lines of a text", """
requests := strings.Repeat("GET /index 200\\nPOST /form 404\\n", 50_000)
func errors404() (n int) {
	sc := bufio.NewScanner(strings.NewReader(requests))
	for sc.Scan() { if strings.HasSuffix(sc.Text(), "404") { n++ } }
	return
}""", """
requests = "GET /index 200\\nPOST /form 404\\n" * 50_000
def errors404():
    n = 0
    for line in io.StringIO(requests):
        if line.rstrip().endswith("404"): n += 1
    return n""", "errors404()"),
    Program("json.Marshal", """
type item struct {
	Name string `json:"name"`
	Price float64 `json:"price"`
	Tags []string `json:"tags"`
}
func encoded(n int) (t int) {
	for i := range n {
		text, err := json.Marshal(item{"thing", float64(i) + 0.5, []string{"a", "b"}})
		if err != nil { return -1 }
		t += len(text)
	}
	return
}""", """
import json
class Item:
    def __init__(self, name, price, tags): self.name, self.price, self.tags = name, price, tags
def encoded(n):
    t = 0
    for i in range(n): t += len(json.dumps(vars(Item("thing", i + 0.5, ["a", "b"])), separators=(",", ":")))
    return t""", "encoded(50_000)"),
]
