package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Setting is what all checks of a run have in common.
type Setting struct {
	Shell   string                       // absolute path; the program counts, too
	Path    string                       // PATH of the checks
	Env     func(g ledger.Gate) []string // NAME=value, without what is made anew for every run
	Timeout time.Duration                // of a gate without TIMEOUT

	Platform string // system and architecture
	Version  string // of this program
	Policy   string // content of the policy, "" without one
	Machine  string // which machine and user
}

// Names of what a context consists of, beside the attributes' keys. Explain
// prints them.
const (
	Place       = "place"
	Outcome     = "outcome"
	Folder      = "folder"
	Limit       = "time limit"
	Shell       = "shell"
	SearchPath  = "PATH"
	Environment = "environment"
	Platform    = "platform"
	Version     = "version"
	Policy      = "policy"
	Machine     = "machine"
	Files       = "files"
)

// ingredients are the digests of everything that a result depends on, by name.
type ingredients map[string]string

// digest is the context: one digest of all of them.
func (in ingredients) digest() string {
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", schema)
	for _, name := range names {
		fmt.Fprintf(h, "%s\x00%s\n", name, in[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d\x00%s\x00", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

var (
	errNoFiles = errors.New("its DEPENDS matches no file")
	errDoubt   = errors.New("a file could not be read")
)

// ingredients computes a gate's, from the files as the snapshot holds them. The
// error says why there can be no receipt.
func (b *Book) ingredients(g gates.GateRef) (ingredients, error) {
	files, err := b.filesOf(g.Gate)
	if err != nil {
		return nil, err
	}
	limit := b.set.Timeout
	if g.Gate.Timeout > 0 {
		limit = time.Duration(g.Gate.Timeout) * time.Second
	}
	in := ingredients{
		Place:       hash(b.tree.Top, g.Ledger, g.Gate.ID),
		Outcome:     hash(g.Gate.Outcome),
		Folder:      hash(g.Dir, g.RelDir),
		Limit:       hash(limit.String()),
		Shell:       hash(b.set.Shell, b.shell),
		SearchPath:  hash(b.set.Path),
		Environment: hash(sorted(b.set.Env(g.Gate))...),
		Platform:    hash(b.set.Platform),
		Version:     hash(b.set.Version),
		Policy:      hash(b.set.Policy),
		Machine:     hash(b.set.Machine),
		Files:       b.filesDigest(files),
	}
	for _, a := range g.Gate.Attributes {
		if a.Key != ledger.Evidence {
			in[string(a.Key)] = hash(in[string(a.Key)], a.Value)
		}
	}
	return in, nil
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// variables are short digests of single variables. 16 bits name what changed and
// say next to nothing about a secret.
func variables(env []string) map[string]string {
	out := map[string]string{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		out[name] = hash(out[name], v)[:4]
	}
	return out
}

// filesOf are the numbers of the files, in the snapshot, that a gate's result
// depends on; nil stands for all.
func (b *Book) filesOf(g ledger.Gate) ([]int, error) {
	if !g.Has(ledger.Depends) {
		if b.doubt {
			return nil, errDoubt
		}
		return nil, nil
	}
	seen := map[int]bool{}
	for _, pattern := range append(slices.Clone(g.Depends), g.Inputs...) {
		hits, err := b.match(pattern)
		if err != nil {
			return nil, err
		}
		if len(hits) == 0 {
			return nil, errNoFiles
		}
		for _, i := range hits {
			if b.snap.files[i].doubt {
				return nil, errDoubt
			}
			seen[i] = true
		}
	}
	if len(seen) == 0 {
		return nil, errNoFiles
	}
	files := make([]int, 0, len(seen))
	for i := range seen {
		files = append(files, i)
	}
	slices.Sort(files)
	return files, nil
}

// match finds the files of one pattern; the same pattern is looked up once.
func (b *Book) match(pattern string) ([]int, error) {
	if hits, ok := b.matched[pattern]; ok {
		return hits, nil
	}
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("%q is no valid pattern", pattern)
	}
	prefix, _ := doublestar.SplitPattern(pattern)
	if prefix == "." || strings.Contains(pattern, `\`) {
		prefix = ""
	}
	files := b.snap.files
	from, _ := slices.BinarySearchFunc(files, prefix, func(f file, p string) int { return strings.Compare(f.path, p) })
	hits := []int{}
	for i := from; i < len(files) && strings.HasPrefix(files[i].path, prefix); i++ {
		if ok, err := doublestar.Match(pattern, files[i].path); err != nil {
			return nil, err
		} else if ok {
			hits = append(hits, i)
		}
	}
	b.matched[pattern] = hits
	return hits, nil
}

// filesDigest covers names, modes and contents. nil is every file, computed once.
func (b *Book) filesDigest(files []int) string {
	if files == nil {
		return b.whole
	}
	h := sha256.New()
	for _, i := range files {
		b.snap.files[i].hash(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (f *file) hash(h interface{ Write([]byte) (int, error) }) {
	fmt.Fprintf(h, "%s\x00%s\x00", f.path, f.mode)
	_, _ = h.Write(f.sum[:]) // a hash does not fail
}

// shellDigest covers the shell's program. One that cannot be read is no shell.
func shellDigest(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the shell: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
