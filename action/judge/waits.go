package judge

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// onlyPath is how the store words that nothing but PATH differs from a record.
const onlyPath = "approved before with another PATH"

// Waits reports whether a person must approve a gate before it runs here. path is
// its ledger, relative to the top, as it was discovered. Nothing is recorded. A
// record for another PATH counts: a hook's PATH is often not its user's.
// What cannot be told is false: the check itself then says what is wrong.
func (l *Local) Waits(ctx context.Context, path string, g ledger.Gate) bool {
	abs := filepath.Join(l.Workspace.Top, filepath.FromSlash(path))
	dir, rel, err := l.Workspace.directories(path, abs, false, "")(g)
	if err != nil {
		return false
	}
	ref := gates.GateRef{Ledger: path, Abs: abs, Dir: dir, RelDir: rel, Gate: g}
	o, err := l.bind(ref)
	if err != nil {
		return false
	}
	asked := *l
	asked.Approve = nil
	found, err := asked.lookup(ctx, ref, o)
	if err != nil || found.Approved || strings.HasPrefix(found.Near, onlyPath) {
		return false
	}
	if l.Signed == nil {
		return true
	}
	request, err := l.Signed.vouch(approval.Request{Mode: approval.ModeLocal, Now: l.Now, Oracle: o, Local: found, Evidence: g.Evidence})
	return err == nil && !approval.Decide(request).Allowed
}
