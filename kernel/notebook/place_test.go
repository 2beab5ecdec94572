package notebook

import "testing"

func TestPlace(t *testing.T) {
	skipped := &Cell{Type: Code, Source: "b", Metadata: map[string]any{"tags": []any{TagSkip}}}
	nb := &Notebook{Cells: []*Cell{
		{Type: Code, Source: "a"}, {Type: Markdown, Source: "# a"}, skipped, {Type: Code, Source: " \n"}, {Type: Code, Source: "c"},
	}}
	for i, want := range []string{
		"cell 1", "cell 2 of the notebook", "cell 3 of the notebook", "cell 4 of the notebook", "code cell 2 (cell 5 of the notebook)",
	} {
		if got := nb.Place(i).String(); got != want {
			t.Errorf("cell %d is called %q, want %q", i, got, want)
		}
	}
}
