package gemm

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// layoutProgram sees of the text's own index arithmetic, compiled for the host, that it
// puts each unit of 16 bytes at a place of its own, that what the hardware reads at once
// lies in different banks, and that wgmma looks for elements where the copy engine puts
// them: within 1024 bytes the bits 4 to 6 of an address are exclusive-or'ed with the bits 7 to 9.
const layoutProgram = `
#include <cstdio>
#include <set>
#define INLINE_MEMBER
typedef int i32;
%BLOCKS%
int failures = 0;
void fail(const char *what, int a, int b, int c) { failures++; std::printf("%s %d %d %d\n", what, a, b, c); }

template <bool along, int rows, int cols> void mma_layout() {
  typedef mma_block<along, rows, cols> block;
  std::set<unsigned> places;
  for (int l = 0; l < block::lines; l++)
    for (int unit = 0; unit < block::line; unit++) {
      const unsigned at = block::at(l, unit);
      if (at % 16 || at >= rows * cols * 2 || !places.insert(at).second) fail("mma place", l, unit, at);
    }
  // ldmatrix reads eight lines of one unit at once.
  for (int l = 0; l < block::lines; l += 8)
    for (int unit = 0; unit < block::line; unit++) {
      std::set<unsigned> banks;
      for (int i = 0; i < 8; i++) banks.insert(block::at(l + i, unit) % 128 / 16);
      if (banks.size() != 8) fail("mma banks", l, unit, banks.size());
    }
}

// Where the copy engine puts unit u of line l of a block: boxes are of lines of 128 bytes.
unsigned brought(int lines, int l, int unit) { return (unit / 8 * lines + l) * 128 + (unit % 8 ^ l % 8) * 16; }

unsigned swizzled(unsigned at) { return at ^ (at >> 7 & 7) << 4; }

template <bool along, int rows, int cols> void wgmma_layout() {
  typedef wgmma_block<along, rows, cols> block;
  std::set<unsigned> places;
  for (int k = 0; k < rows; k++)
    for (int c = 0; c < cols; c++) {
      // Where the instruction looks for element (k, c): from the descriptor of the 16 of k
      // and 64 (or more) of c that it is in.
      const int k0 = k / 16 * 16, c0 = c / 64 * 64;
      const unsigned long long d = block::describe(0, k0, c0);
      const unsigned base = (d & 0x3fff) << 4, next_columns = (d >> 16 & 0x3fff) << 4, next_eight = (d >> 32 & 0x3fff) << 4;
      const int kk = k - k0, cc = c - c0;
      unsigned looks;
      if (along) looks = swizzled(base + cc / 8 * next_eight + cc % 8 * 128 + kk * 2);
      else looks = swizzled(base + cc / 64 * next_columns + kk / 8 * next_eight + kk % 8 * 128 + cc % 64 * 2);
      const unsigned at = (along ? brought(cols, c, k / 8) : brought(rows, k, c / 8)) + (along ? k % 8 : c % 8) * 2;
      if (at != looks) fail("wgmma place", k, c, at);
      if (!places.insert(at).second) fail("wgmma twice", k, c, at);
      // A descriptor that begins 64 columns later is one step of columns away.
      if (!along && c0 > 0 && block::describe(0, k0, c0) - block::describe(0, k0, c0 - 64) != next_columns >> 4) fail("wgmma step", k, c, at);
    }
}

int main() {
  mma_layout<true, 32, 128>(); mma_layout<true, 64, 64>(); mma_layout<true, 64, 16>();
  mma_layout<false, 32, 128>(); mma_layout<false, 64, 64>(); mma_layout<false, 32, 256>(); mma_layout<false, 64, 32>(); mma_layout<false, 64, 16>();
  wgmma_layout<true, 64, 128>(); wgmma_layout<true, 64, 256>(); wgmma_layout<true, 64, 192>();
  wgmma_layout<false, 64, 128>(); wgmma_layout<false, 64, 256>(); wgmma_layout<false, 64, 192>();
  return failures != 0;
}
`

// block finds a template in the text.
func block(t *testing.T, text, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?ms)^template <[^>]*> struct ` + name + ` \{.*?^\};$`).FindString(text)
	if found == "" {
		t.Fatalf("the text has no %s", name)
	}
	return found
}

func TestLayout(t *testing.T) {
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("there is no C++ compiler: ", err)
	}
	dir := t.TempDir()
	text := regexp.MustCompile(`%BLOCKS%`).ReplaceAllLiteralString(layoutProgram, block(t, mmaSource, "mma_block")+"\n"+block(t, wgmmaSource, "wgmma_block"))
	file, program := filepath.Join(dir, "layout.cc"), filepath.Join(dir, "layout")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-std=c++17", "-O1", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%.2000s", err, out)
	}
}
