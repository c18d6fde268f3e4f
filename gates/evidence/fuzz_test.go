package evidence

import (
	"os"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// FuzzJudge looks for panics and for claims that are met without what the
// format asks for. {D} and {A} in the evidence stand for the gate's digests:
// nobody could guess them.
func FuzzJudge(f *testing.F) {
	if entries, err := os.ReadDir("testdata/fuzz/FuzzJudge"); err != nil || len(entries) == 0 {
		f.Fatalf("%d seeds, %v", len(entries), err)
	}
	f.Fuzz(func(t *testing.T, check, expect, evidence, needs string, mark, done bool) {
		g := ledger.Gate{ID: "G1", Ticked: mark, Check: check, Expect: expect}
		if needs != "" {
			g.Attributes = []ledger.Attribute{{Key: ledger.Needs, Value: needs}}
		}
		if done {
			g.Abandoned = "x"
		}
		evidence = strings.ReplaceAll(evidence, "{D}", DefinitionDigest(g))
		g.Evidence = strings.ReplaceAll(evidence, "{A}", AttributesDigest(g))
		w := Judge(g)
		peer := accepts(g.Evidence, DefinitionDigest(g))
		switch {
		case done != (w.Claim == Abandoned):
			t.Errorf("abandoned %v: %+v", done, w)
		case done:
		case !mark && w != Worth{}:
			t.Errorf("box empty: %+v", w)
		case !mark:
		case (w.Claim == Met) != (w.Reason == None):
			t.Errorf("ticked: %+v", w)
		case g.Runnable() && w.Claim == Unmet:
			t.Errorf("ticked, with a command: %+v", w)
		case g.Runnable() && w.Claim == Met && !peer:
			t.Errorf("met, and not for unlazy: %q", g.Evidence)
		case g.Runnable() && w.Claim == Met && needs != "" && !strings.Contains(g.Evidence, "; attrs-sha256="+AttributesDigest(g)):
			t.Errorf("met without its attributes: %q", g.Evidence)
		case g.Runnable() && peer && needs == "" && w.Claim != Met && !strings.Contains(g.Evidence, "; attrs-sha256=") && !strings.Contains(g.Evidence, "; tree="):
			t.Errorf("met for unlazy, here %+v: %q", w, g.Evidence)
		}
		if w.Tree != "" && !strings.Contains(g.Evidence, "; tree="+w.Tree) {
			t.Errorf("tree %q is not in %q", w.Tree, g.Evidence)
		}
	})
}
