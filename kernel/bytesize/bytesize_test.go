package bytesize

import "testing"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"0", 0}, {"1024", 1024}, {"16MiB", 16 << 20}, {"2 GB", 2e9}, {"3K", 3 << 10}, {"7B", 7}, {"16M", 16 << 20}, {"16MB", 16e6},
		{"-1", -1}, {"x", -1}, {"", -1}, {"MiB", -1}, {"9223372036854775807GiB", -1}, {"1.5MiB", -1}, {"1iB", -1},
	} {
		got, err := Parse(c.in)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("Parse(%q) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 5: "5", 1 << 20: "1MiB", 3 << 29: "1536MiB", 4 << 30: "4GiB", 1500: "1500"} {
		if got := Format(n); got != want {
			t.Errorf("Format(%d) = %s, want %s", n, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("16MiB")
	f.Add("1 kB")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(Format(n)); n < 0 || err != nil || again != n {
			t.Errorf("%q is %d; written as %s it is %d, %v", text, n, Format(n), again, err)
		}
	})
}
