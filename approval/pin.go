package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// PinVersion is the version of the pin's record.
const PinVersion = 1

// MaxPin is the largest pin read, in bytes: 40 000 revocations.
const MaxPin = 4 << 20

// What can be wrong with a pin. None of them is "not pinned", and each refuses.
var (
	ErrNoPin      = errors.New("not pinned on this machine")
	ErrPinChanged = errors.New("the signers or rules are not those that were pinned")
	ErrPinLost    = errors.New("revocations seen before are missing")
	ErrNotDefault = errors.New("signers are pinned from the remote's default branch only")
)

// Place identifies the repository that a pin is for.
type Place struct {
	Project string // of the policy
	Remote  string // RemoteIdentity of the remote's URL, "" without a remote
	Top     string // absolute path of the work tree, links resolved; counts only without a remote
}

// Pin says that somebody looked at a repository's signers on this machine.
type Pin struct {
	V             int      `json:"v"`
	Project       string   `json:"project"`
	Remote        string   `json:"remote"`
	Top           string   `json:"top"`
	Ref           string   `json:"ref"`
	Commit        string   `json:"commit"`
	PolicySHA256  string   `json:"policySha256"`
	SignersSHA256 string   `json:"signersSha256"`
	Principals    []string `json:"principals"`
	// Revoked is the largest set of revocations seen: an older root that lacks one is refused.
	Revoked  []string  `json:"revoked"`
	PinnedAt time.Time `json:"pinnedAt"`
}

// RemoteDefault is the default branch as the remote names it.
type RemoteDefault struct {
	Ref    string // such as origin/main: the ref the root was read at
	Commit string // lower-case hex
}

// NewPin pins a root that was read at the remote's default branch. Any other
// root, such as that of the branch of a pull request which is checked out, is
// ErrNotDefault: its author would choose the signers.
func NewPin(p Place, root TrustRoot, at RemoteDefault, now time.Time) (Pin, error) {
	if root.State != RootValid {
		return Pin{}, fmt.Errorf("pin %s: there are no valid rules and signers", root.Ref)
	}
	if at.Ref == "" || root.Ref != at.Ref || root.Commit == "" || root.Commit != at.Commit {
		return Pin{}, fmt.Errorf("pin %q: %w", root.Ref, ErrNotDefault)
	}
	return pin(p, root, now)
}

// NewWrittenPin pins the root that init has just written here: whoever ran init chose its signers.
func NewWrittenPin(p Place, root TrustRoot, now time.Time) (Pin, error) {
	return pin(p, root, now)
}

func pin(p Place, root TrustRoot, now time.Time) (Pin, error) {
	if root.State != RootValid || p.Project != root.Policy.Project {
		return Pin{}, fmt.Errorf("pin project %q: the rules are of another project", p.Project)
	}
	if p.Remote == "" && p.Top == "" {
		return Pin{}, fmt.Errorf("pin project %q: neither a remote nor a folder is named", p.Project)
	}
	return Pin{
		V: PinVersion, Project: p.Project, Remote: p.Remote, Top: p.Top, Ref: root.Ref, Commit: root.Commit,
		PolicySHA256: root.PolicySHA256, SignersSHA256: root.SignersSHA256,
		Principals: list(root.Principals), Revoked: list(root.Revoked), PinnedAt: now.UTC().Truncate(time.Second),
	}, nil
}

// Check returns nil if the root is the pinned one: the same project, rules and
// signers, with every revocation that was ever seen. Otherwise ErrPinChanged or
// ErrPinLost, naming what differs.
func (p Pin) Check(root TrustRoot) error {
	switch {
	case p.V != PinVersion || root.State != RootValid || p.Project != root.Policy.Project:
		return fmt.Errorf("project %q: %w", root.Policy.Project, ErrPinChanged)
	case p.SignersSHA256 == "" || p.SignersSHA256 != root.SignersSHA256:
		return fmt.Errorf("%s: %w", SignersPath, ErrPinChanged)
	case p.PolicySHA256 == "" || p.PolicySHA256 != root.PolicySHA256:
		return fmt.Errorf("%s: %w", PolicyPath, ErrPinChanged)
	}
	have := Unite(root.Revoked)
	for _, d := range p.Revoked {
		if !have.Has(d) {
			return fmt.Errorf("%s lacks %s: %w", RevokedPath, d, ErrPinLost)
		}
	}
	return nil
}

// Seen returns the pin with the revocations added, and whether that changed it.
func (p Pin) Seen(revoked Revocations) (Pin, bool) {
	all := Unite(p.Revoked, revoked.List()).List()
	if len(all) == len(p.Revoked) {
		return p, false
	}
	p.Revoked = all
	return p, true
}

// RemoteIdentity reduces a remote's URL to host and path, so that the ways of
// writing one repository are one, and no password is kept. "" stays "".
func RemoteIdentity(remote string) string {
	remote = strings.TrimSpace(remote)
	if u, err := url.Parse(remote); err == nil && u.Scheme != "" && u.Host != "" {
		return strings.ToLower(u.Hostname()) + "/" + trimPath(u.Path)
	}
	// user@host:path, as scp writes it; a single letter before ":" is a drive.
	if host, path, ok := strings.Cut(remote, ":"); ok && len(host) > 1 && !strings.ContainsAny(host, `/\`) {
		return strings.ToLower(host[strings.LastIndex(host, "@")+1:]) + "/" + trimPath(path)
	}
	return remote
}

func trimPath(p string) string {
	return strings.TrimSuffix(strings.Trim(p, "/"), ".git")
}

// pinPath names the record of a place: by its remote, or by its folder where there is none.
func pinPath(folder string, p Place) string {
	key := []string{"gatesworn.pin", p.Project, "remote", p.Remote}
	if p.Remote == "" {
		key = []string{"gatesworn.pin", p.Project, "top", p.Top}
	}
	return filepath.Join(folder, hexDigest([]byte(strings.Join(key, "\x00")))+".json")
}

// LoadPin reads the pin of a place from folder, a private folder in the user's
// state folder. A pin by remote comes first; one by folder, which init wrote
// before there was a remote, counts for the same folder. ErrNoPin if there is none.
func LoadPin(folder string, p Place) (Pin, error) {
	pin, err := loadPin(folder, p)
	if errors.Is(err, ErrNoPin) && p.Remote != "" && p.Top != "" {
		pin, err = loadPin(folder, Place{Project: p.Project, Top: p.Top})
	}
	return pin, err
}

func loadPin(folder string, p Place) (Pin, error) {
	path := pinPath(folder, p)
	f, err := safefile.Read(path, MaxPin)
	if errors.Is(err, fs.ErrNotExist) {
		return Pin{}, fmt.Errorf("project %q: %w", p.Project, ErrNoPin)
	}
	if err != nil {
		return Pin{}, err
	}
	if err := safefile.PrivateDir(folder); err != nil {
		return Pin{}, err
	}
	if executableBits && f.Mode.Perm()&0o077 != 0 {
		return Pin{}, fmt.Errorf("pin %q grants rights to others", path)
	}
	var pin Pin
	if err := json.Unmarshal(f.Data, &pin); err != nil || !bytes.Equal(pin.bytes(), f.Data) {
		return Pin{}, fmt.Errorf("pin %q is not one that gatesworn wrote; remove it, then gatesworn trust", path)
	}
	if pin.V != PinVersion || pin.Project != p.Project || pin.Remote != p.Remote || p.Remote == "" && pin.Top != p.Top {
		return Pin{}, fmt.Errorf("pin %q is of another repository", path)
	}
	return pin, nil
}

// SavePin writes a pin to folder, which is created private. A pin that stands
// there never loses a revocation it has seen, whoever writes first.
func SavePin(ctx context.Context, folder string, pin Pin) error {
	if err := safefile.PrivateDir(folder); err != nil {
		return err
	}
	lock, err := safefile.Acquire(ctx, filepath.Join(folder, ".lock"))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	place := Place{Project: pin.Project, Remote: pin.Remote, Top: pin.Top}
	old, err := loadPin(folder, place)
	if err == nil {
		pin, _ = pin.Seen(Unite(old.Revoked))
	} else if !errors.Is(err, ErrNoPin) {
		return err
	}
	return safefile.Replace(pinPath(folder, place), pin.bytes(), 0o600)
}

// bytes is the record's one form.
func (p Pin) bytes() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		return nil // a Pin holds nothing that JSON cannot; nil equals no file
	}
	return b.Bytes()
}
