package allowlist

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// commitTree is a commit of a real repository.
type commitTree struct {
	r       *gitobj.Repo
	entries []approval.Entry
	ids     map[string]gitobj.OID
}

func (c *commitTree) Entries() []approval.Entry { return c.entries }

func (c *commitTree) Blob(e approval.Entry) ([]byte, error) {
	return c.r.Blob(c.ids[e.Path], MaxStatement+1)
}

// openHead opens a repository and lists its HEAD.
func openHead(b testing.TB, dir string) *commitTree {
	b.Helper()
	r, err := gitobj.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	head, err := r.Head()
	if err != nil {
		b.Fatal(err)
	}
	commit, err := r.Commit(head.OID)
	if err != nil {
		b.Fatal(err)
	}
	c := &commitTree{r: r, ids: map[string]gitobj.OID{}}
	err = r.Walk(b.Context(), commit.Tree, func(e gitobj.Entry) error {
		c.entries = append(c.entries, approval.Entry{Path: e.Path, Mode: e.Mode.String(), OID: e.OID.String()})
		c.ids[e.Path] = e.OID
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// signedRepo commits n statements of gates gates each, in which the last one
// approves what is asked for now.
func signedRepo(b testing.TB, n, gates int) (string, Signers) {
	b.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip("git is missing")
	}
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	folder := filepath.Join(dir, filepath.FromSlash(approval.ApprovalsPath))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		var list []approval.Oracle
		for g := range gates {
			list = append(list, oracle(fmt.Sprint("G", (i*gates+g)%10), fmt.Sprintf("make test-%d && echo version %d of this check", g, n-i)))
		}
		s := approving(testNow.Add(-time.Duration(n-i)*time.Minute), list...)
		data := mustMarshal(b, s)
		path := StatementPath(s.IssuedAt, approval.Digest(data))
		for name, text := range map[string][]byte{path: data, SignaturePath(path, signer.PublicKey()): sign(b, signer, data)} {
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "gc.auto", "0"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"}, {"gc", "-q"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v %s", err, out)
		}
	}
	return dir, mustSigners(b, line("alice", "", signer.PublicKey()))
}

// BenchmarkOldApprovals is what a run of 10 gates pays for old approvals of the
// same gates: open, list HEAD, read and index every statement, decide.
func BenchmarkOldApprovals(b *testing.B) {
	for _, c := range []struct{ n, gates int }{{10, 1}, {1000, 1}, {10_000, 1}, {1000, 10}} {
		b.Run(fmt.Sprintf("statements=%d/gates=%d", c.n, c.gates), func(b *testing.B) {
			dir, signers := signedRepo(b, c.n, c.gates)
			for b.Loop() {
				tree := openHead(b, dir)
				l, err := Open(Options{Judged: tree, Trust: tree, Signers: signers, Now: testNow})
				if err != nil {
					b.Fatal(err)
				}
				for g := range 10 {
					o := oracle(fmt.Sprint("G", (c.n*c.gates-1-g)%10), fmt.Sprintf("make test-%d && echo version %d of this check", c.gates-1-g%c.gates, 1+g/c.gates))
					got, err := l.About("GATES.md", o.Gate, o.Digest())
					if err != nil || len(got) != 1 || got[0].Signatures[0].Principal != "alice" {
						b.Fatal(len(got), err)
					}
				}
				tree.r.Close()
			}
		})
	}
}

// BenchmarkVerifyAll parses and verifies 1000 statements of 10 gates.
func BenchmarkVerifyAll(b *testing.B) {
	dir, signers := signedRepo(b, 1000, 10)
	for b.Loop() {
		tree := openHead(b, dir)
		l, err := Open(Options{Judged: tree, Signers: signers, Now: testNow})
		if err != nil {
			b.Fatal(err)
		}
		all, err := l.All()
		if err != nil || len(all) != 1000 || all[7].Fault != "" || all[7].Signatures[0].Fault != "" {
			b.Fatal(len(all), err)
		}
		tree.r.Close()
	}
}
