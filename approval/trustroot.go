package approval

import "fmt"

// The paths of the root.
const (
	RootFolder    = ".gatesworn"
	PolicyPath    = RootFolder + "/policy.yml"
	SignersPath   = RootFolder + "/allowed_signers"
	RevokedPath   = RootFolder + "/revoked"
	ApprovalsPath = RootFolder + "/approvals/"
)

// MaxRootFile is the largest allowed_signers or revoked read, in bytes.
const MaxRootFile = 4 << 20

// RootState says what stands at the trust ref. The zero value refuses.
type RootState int

const (
	RootUnread  RootState = iota // nothing was read: refuses
	RootMissing                  // no policy, or no signers: nothing is approved, status 1
	RootBroken                   // a root file is there and is no file, or does not parse: status 2
	RootValid
)

// TrustRoot is the root files at one commit, read once. The zero value refuses.
type TrustRoot struct {
	Ref    string // as named to people: "main", "origin/main"
	Commit string // lower-case hex
	State  RootState
	Err    error // with RootBroken, what is wrong; position first where there is one

	Policy     Policy
	Signers    []byte   // allowed_signers as it stands there
	Principals []string // that it lists, sorted
	Revoked    []string // digests, sorted

	PolicySHA256, SignersSHA256, RevokedSHA256 string // lower-case hex, "" where the file is missing
}

// ReadTrustRoot reads the root from the tree of the trust commit. The state says
// what was found; it never falls back to another place.
func ReadTrustRoot(ref, commit string, t Tree, f Formats) TrustRoot {
	r := TrustRoot{Ref: ref, Commit: commit}
	if err := r.read(t, f); err != nil {
		return r.Break(err)
	}
	r.State = RootValid
	if r.PolicySHA256 == "" || len(r.Principals) == 0 {
		r.State = RootMissing
	}
	return r
}

// Break returns the root as broken: nothing of it counts any more.
func (r TrustRoot) Break(err error) TrustRoot {
	return TrustRoot{Ref: r.Ref, Commit: r.Commit, State: RootBroken, Err: err}
}

func (r *TrustRoot) read(t Tree, f Formats) error {
	if err := CheckRootFolder(t); err != nil {
		return err
	}
	policy, ok, err := rootFile(t, PolicyPath, MaxPolicy)
	if err != nil {
		return err
	}
	if ok {
		if r.Policy, err = ParsePolicy(PolicyPath, policy); err != nil {
			return err
		}
		r.PolicySHA256 = hexDigest(policy)
	}
	signers, ok, err := rootFile(t, SignersPath, MaxRootFile)
	if err != nil {
		return err
	}
	if ok {
		if r.Principals, err = f.Signers(SignersPath, signers); err != nil {
			return err
		}
		r.Signers, r.SignersSHA256 = signers, hexDigest(signers)
	}
	r.Revoked, r.RevokedSHA256, err = readRevoked(t, f)
	return err
}

// ReadRevoked returns the digests that a tree revokes. Those of the trust ref
// and of the judged commit are united (Unite); an error makes the root broken.
func ReadRevoked(t Tree, f Formats) ([]string, error) {
	digests, _, err := readRevoked(t, f)
	return digests, err
}

func readRevoked(t Tree, f Formats) ([]string, string, error) {
	data, ok, err := rootFile(t, RevokedPath, MaxRootFile)
	if err != nil || !ok {
		return nil, "", err
	}
	digests, err := f.Revoked(RevokedPath, data)
	return digests, hexDigest(data), err
}

// CheckRootFolder returns an error if .gatesworn or anything beneath it is a
// symbolic link or a submodule, or no regular file. It is asked of the trust
// tree and of the judged tree.
func CheckRootFolder(t Tree) error {
	entries := t.Entries()
	if e, ok := find(entries, RootFolder); ok {
		return fmt.Errorf("%s must be a folder, not %s", RootFolder, modeWord(e.Mode))
	}
	for _, e := range beneath(entries, RootFolder+"/") {
		if e.Mode != ModeFile {
			return fmt.Errorf("%s must be a regular file (mode %s), not %s", e.Path, ModeFile, modeWord(e.Mode))
		}
	}
	return nil
}

func modeWord(mode string) string {
	switch mode {
	case ModeLink:
		return "a symbolic link"
	case ModeSubmodule:
		return "a submodule"
	case ModeExecutable:
		return "an executable"
	case ModeFile:
		return "a file"
	}
	return "mode " + mode
}

func rootFile(t Tree, path string, limit int) ([]byte, bool, error) {
	e, ok := find(t.Entries(), path)
	if !ok {
		// "absent" must mean absent: a folder of that name is something else.
		if len(beneath(t.Entries(), path+"/")) > 0 {
			return nil, false, fmt.Errorf("%s must be a file, not a folder", path)
		}
		return nil, false, nil
	}
	data, err := t.Blob(e)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > limit {
		return nil, false, fmt.Errorf("%s is over %d bytes", path, limit)
	}
	return data, true, nil
}

// Revocations is a set of revoked digests, of statements and of oracles.
type Revocations map[string]struct{}

// Unite returns the revocations of all lists. A revocation that one list has
// lost still counts.
func Unite(lists ...[]string) Revocations {
	all := Revocations{}
	for _, l := range lists {
		for _, d := range l {
			all[d] = struct{}{}
		}
	}
	return all
}

// Has reports whether the digest is revoked.
func (r Revocations) Has(digest string) bool { _, ok := r[digest]; return ok }

// List returns the digests, sorted.
func (r Revocations) List() []string { return sorted(r) }
