package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"time"

	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/jsontext"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Limits of hook-state.json (unlazy).
const (
	maxState    = 1 << 20 // bytes
	maxSessions = 64      // the newest are kept
)

// stamp is how JavaScript's toISOString writes a time.
const stamp = "2006-01-02T15:04:05.000Z"

// state is where the blocks of one session are counted.
type state struct {
	root, scope, session string
	lockDir              string
	now                  func() time.Time
}

// session is one entry of the file, in unlazy's order.
type session struct {
	Hash      string          `json:"hash"`
	Blocks    int             `json:"blocks"`
	UpdatedAt json.RawMessage `json:"updatedAt"` // as it was written: by us a time as text
}

// key names the session's entry.
func (s state) key() string {
	name := s.scope
	if name == "" {
		name = "unscoped"
	}
	return digest(s.session + "\x00" + name)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:24]
}

// file is the state's path relative to the root.
func (s state) file() string {
	if s.scope == "" {
		return ".unlazy-hook-state.json"
	}
	return path.Join(".unlazy", s.scope, "hook-state.json")
}

// count records one more stop and returns how many there were in a row with the
// same progress.
func (s state) count(ctx context.Context, progress string) (int, error) {
	blocks := 1
	err := s.change(ctx, func(all map[string]session) bool {
		at, err := json.Marshal(s.now().UTC().Format(stamp))
		if err != nil {
			return false // text always marshals
		}
		next := session{Hash: digest(progress), Blocks: 1, UpdatedAt: at}
		if old, ok := all[s.key()]; ok && old.Hash == next.Hash {
			next.Blocks = min(old.Blocks, MaxBlocks) + 1
		}
		blocks = next.Blocks
		all[s.key()] = next
		return true
	})
	return blocks, err
}

// forget drops the session's entry; that it could not be dropped holds nobody back.
func (s state) forget(ctx context.Context) {
	if _, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(s.file()))); err != nil {
		return
	}
	_ = s.change(ctx, func(all map[string]session) bool {
		_, ok := all[s.key()]
		delete(all, s.key())
		return ok
	})
}

// change reads, changes and writes the file under its lock.
func (s state) change(ctx context.Context, do func(map[string]session) bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	release, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if released := release(); err == nil {
			err = released
		}
	}()
	all, err := s.load()
	if err != nil {
		return err
	}
	if !do(all) {
		return nil
	}
	if len(all) == 0 {
		return os.Remove(filepath.Join(s.root, filepath.FromSlash(s.file())))
	}
	newest(all, s.key())
	data, err := jsontext.Text(struct {
		Schema   int                `json:"schema"`
		Sessions map[string]session `json:"sessions"`
	}{1, all})
	if err != nil {
		return err
	}
	return safefile.ReplaceBeneath(s.root, s.file(), append(data, '\n'), 0o600)
}

// lock takes unlazy's lock where unlazy's folder is, else one in the user's own.
func (s state) lock(ctx context.Context) (release func() error, err error) {
	target := filepath.Join(s.root, filepath.FromSlash(s.file()))
	if s.scope != "" || scope.UsesLocks(s.root) {
		l, err := scope.FileLock(ctx, s.root, target, s.now)
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	}
	if s.lockDir == "" {
		return func() error { return nil }, nil
	}
	sum := sha256.Sum256([]byte(target))
	l, err := safefile.Acquire(ctx, filepath.Join(s.lockDir, "hook-"+hex.EncodeToString(sum[:])+".lock"))
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// load reads the sessions. A file that holds something else is started over: it
// is a counter, and nobody may be held by one that cannot count. What cannot be
// read at all is an error.
func (s state) load() (map[string]session, error) {
	all := map[string]session{}
	f, err := safefile.ReadBeneath(s.root, s.file(), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for _, m := range membersOf(memberOf(f.Data, "sessions")) {
		e, err := parseSession(m.Value)
		if err == nil && len(m.Name) == 24 {
			all[m.Name] = e
		}
	}
	return all, nil
}

func parseSession(raw []byte) (session, error) {
	var e session
	hash, err := jsontext.String(memberOf(raw, "hash"))
	if err != nil {
		return e, err
	}
	blocks, err := strconv.Atoi(string(memberOf(raw, "blocks")))
	if err != nil || blocks < 0 {
		return e, fmt.Errorf("blocks must be a number")
	}
	e = session{Hash: hash, Blocks: blocks, UpdatedAt: memberOf(raw, "updatedAt")}
	if len(e.UpdatedAt) == 0 {
		e.UpdatedAt = json.RawMessage(`""`)
	}
	return e, nil
}

func membersOf(raw []byte) []jsontext.Member {
	ms, err := jsontext.Object(raw)
	if err != nil {
		return nil
	}
	return ms
}

func memberOf(raw []byte, name string) json.RawMessage {
	for _, m := range membersOf(raw) {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// newest keeps the newest sessions, and ours.
func newest(all map[string]session, ours string) {
	keys := make([]string, 0, len(all))
	for k := range all {
		if k != ours {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := updated(all[keys[i]]), updated(all[keys[j]])
		return a > b || a == b && keys[i] < keys[j]
	})
	for len(keys) >= maxSessions {
		delete(all, keys[len(keys)-1])
		keys = keys[:len(keys)-1]
	}
}

// updated is when an entry was written, in milliseconds; 0 where it does not say.
func updated(e session) int64 {
	if text, err := jsontext.String(e.UpdatedAt); err == nil {
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return t.UnixMilli()
		}
		return 0
	}
	n, err := strconv.ParseFloat(string(e.UpdatedAt), 64)
	if err != nil {
		return 0
	}
	return int64(n)
}
