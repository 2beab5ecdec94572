package chart

import (
	"math"
	"reflect"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		x    float64
		want string
	}{
		{Seconds, 0, "0"}, {Seconds, 2.5e-9, "2.5 ns"}, {Seconds, 1e-6, "1 µs"}, {Seconds, 1.5e-3, "1.5 ms"}, {Seconds, 90, "90 s"}, {Seconds, 3e-12, "0.003 ns"},
		{Bytes, 1536, "1.5 KiB"}, {Bytes, 0, "0 B"}, {Share, 0.4, "40 %"}, {Share, 1, "100 %"},
		{Number, 1234, "1234"}, {Number, 12345, "12.35 k"}, {Number, 5e10, "50 G"}, {Number, -2e6, "-2 M"}, {Number, 0.05, "0.05"}, {Number, 1e-9, "1e-09"},
	} {
		if got := c.unit.Format(c.x); got != c.want {
			t.Errorf("%g: %q, want %q", c.x, got, c.want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		room int
		want []string
	}{
		{Axis{Min: 0, Max: 1, Unit: Share}, 5, []string{"0 %", "20 %", "40 %", "60 %", "80 %", "100 %"}},
		{Axis{Min: -1, Max: 1}, 4, []string{"-1", "-0.5", "0", "0.5", "1"}},
		{Axis{Min: 0, Max: 7 << 10, Unit: Bytes}, 4, []string{"0 B", "2 KiB", "4 KiB", "6 KiB"}},
		{Axis{Min: 1.9e-5, Max: 4.2e-5, Unit: Seconds}, 6, []string{"20 µs", "25 µs", "30 µs", "35 µs", "40 µs"}},
		{Axis{Min: 0.5, Max: 200, Log: true}, 9, []string{"0.5", "1", "2", "5", "10", "20", "50", "100", "200"}},
		{Axis{Min: 0.5, Max: 200, Log: true}, 3, []string{"1", "10", "100"}},
		{Axis{Min: 1e-3, Max: 1e9, Log: true}, 4, []string{"1", "10 k", "100 M"}},
		{Axis{Min: 1, Max: 1 << 20, Log: true, Unit: Bytes}, 5, []string{"1 B", "32 B", "1 KiB", "32 KiB", "1 MiB"}},
		{Axis{Min: 3, Max: 4, Log: true}, 5, []string{"3", "3.2", "3.4", "3.6", "3.8", "4"}},
		{Names("a", "b"), 1, []string{"a", "b"}},
		{Axis{Min: 0, Max: 1, Ticks: []Tick{{0.5, "in"}, {2, "out"}}}, 5, []string{"in"}},
	} {
		var got []string
		for _, k := range c.axis.ticks(c.axis.scale(100, nil), c.room) {
			got = append(got, k.Label)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v in %d: %q, want %q", c.axis, c.room, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		x    float64
		want float64
	}{
		{Axis{Min: 2, Max: 4}, 3, 50}, {Axis{Min: 1, Max: 100, Log: true}, 10, 50}, {Axis{Min: 0, Max: 1, Reverse: true}, 0.25, 75},
		{Axis{Min: 0, Max: 1}, math.Inf(1), 100}, {Axis{Min: 0, Max: 1}, math.Inf(-1), 0}, {Axis{Min: 1, Max: 2, Log: true, Reverse: true}, math.Inf(1), 0},
	} {
		if got := c.axis.scale(100, nil).at(c.x); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g is at %g, want %g", c.axis, c.x, got, c.want)
		}
	}
	for _, c := range []struct {
		log         bool
		data        []float64
		least, most float64
	}{
		{false, nil, 0, 1}, {true, nil, 1, 10}, {false, []float64{0}, 0, 1}, {false, []float64{1, 9}, 0, 9.45}, {false, []float64{-2, -1}, -2.1, 0},
		{false, []float64{8, 9, math.Inf(1)}, 7.95, 9.05}, {true, []float64{1, 10}, 1 / 1.15, 11.5}, {false, []float64{-1, 1}, -1.1, 1.1},
	} {
		s := Axis{Log: c.log}.scale(1, c.data)
		if math.Abs(s.min-c.least) > 1e-9 || math.Abs(s.max-c.most) > 1e-9 {
			t.Errorf("%v: %g to %g, want %g to %g", c.data, s.min, s.max, c.least, c.most)
		}
	}
}
