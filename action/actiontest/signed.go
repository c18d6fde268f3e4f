package actiontest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Project is the project of every policy made here.
const Project = "7b1c9f0e4a5d4e6f"

// Files are a commit's files by path.
type Files map[string]string

// With returns the files with others added or replaced; "" removes one.
func (f Files) With(more Files) Files {
	out := maps.Clone(f)
	for path, data := range more {
		if data == "" {
			delete(out, path)
		} else {
			out[path] = data
		}
	}
	return out
}

// Signer is somebody whose approvals count.
type Signer struct {
	Name string
	key  ssh.Signer
}

// NewSigner makes a signer with a fresh key.
func NewSigner(t testing.TB, name string) Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Signer{Name: name, key: s}
}

// Root is .gatesworn/ for a repository, with further policy lines.
func Root(repository, policy string, signers ...Signer) Files {
	var allowed strings.Builder
	for _, s := range signers {
		allowed.WriteString(s.Name + ` namespaces="gatesworn-approval" ` + string(ssh.MarshalAuthorizedKey(s.key.PublicKey())))
	}
	return Files{
		".gatesworn/policy.yml":      "version: 1\nproject: " + Project + "\nrepository: " + repository + "\nledgers: [GATES.md]\n" + policy,
		".gatesworn/allowed_signers": allowed.String(),
		".gatesworn/.gitattributes":  "approvals/** -text linguist-generated\n",
	}
}

// Sign returns the files with an approval of every gate in their GATES.md that only
// lists, if it is not empty.
func Sign(t testing.TB, files Files, by Signer, at time.Time, only ...string) Files {
	t.Helper()
	doc := ledger.Parse("GATES.md", []byte(files["GATES.md"]))
	s := approval.Statement{Project: Project, IssuedAt: at.UTC().Truncate(time.Second)}
	for _, g := range doc.Gates {
		if len(only) > 0 && !slices.Contains(only, g.ID) {
			continue
		}
		o, err := approval.Build(newTree(files), Project, "GATES.md", g)
		if err != nil {
			t.Fatal(err)
		}
		s.Approve = append(s.Approve, o)
	}
	data, err := allowlist.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := sshsig.Sign(bytes.NewReader(data), by.key, sshsig.HashSHA512, "gatesworn-approval")
	if err != nil {
		t.Fatal(err)
	}
	path := allowlist.StatementPath(s.IssuedAt, approval.Digest(data))
	return files.With(Files{path: string(data), allowlist.SignaturePath(path, by.key.PublicKey()): string(sshsig.Armor(sig))})
}

// tree is a Tree over files in memory.
type tree struct {
	entries []approval.Entry
	files   Files
}

func newTree(files Files) tree {
	t := tree{files: files}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		t.entries = append(t.entries, approval.Entry{Path: path, Mode: approval.ModeFile, OID: path})
	}
	return t
}

func (t tree) Entries() []approval.Entry { return t.entries }

func (t tree) Blob(e approval.Entry) ([]byte, error) { return []byte(t.files[e.Path]), nil }
