package gitobj

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// indexEntry is one path of the index with the stat data git noted.
type indexEntry struct {
	path  string
	mode  Mode
	oid   OID
	stage int
	stat  statData
}

// statData is what git keeps of lstat, each cut to 32 bits.
type statData struct {
	ctimeSec, ctimeNsec uint32
	mtimeSec, mtimeNsec uint32
	dev, ino, uid, gid  uint32
	size                uint32
}

// Tracked lists what the index tracks, in its order; a path in conflict appears
// once. The index belongs to whoever can write the git directory: use it to list
// files for a person, never to decide what a commit holds.
func (r *Repo) Tracked() ([]Entry, error) {
	entries, err := r.index()
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, e := range entries {
		if len(out) > 0 && out[len(out)-1].Path == e.path {
			continue
		}
		out = append(out, Entry{Path: e.path, Mode: e.mode, OID: e.oid})
	}
	return out, nil
}

func (r *Repo) index() ([]indexEntry, error) {
	data, err := readRegular(filepath.Join(r.gitDir, "index"), maxIndex)
	if err != nil {
		if absent(err) {
			err = nil
		}
		return nil, err
	}
	entries, err := parseIndex(data, r.format)
	if err != nil {
		return nil, fmt.Errorf("git index: %w", err)
	}
	return entries, nil
}

// indexStat is where an entry's path starts: ten 32-bit fields, an id, flags.
const indexStat = 40

// parseIndex reads versions 2 to 4 of the index.
func parseIndex(data []byte, f Format) ([]indexEntry, error) {
	if len(data) < 12+int(f) || string(data[:4]) != "DIRC" {
		return nil, corrupt("header")
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("version %d %w", version, ErrUnsupported)
	}
	if count > MaxEntries {
		return nil, fmt.Errorf("%d entries %w (%d)", count, ErrLimit, MaxEntries)
	}
	body := data[12 : len(data)-int(f)]
	out := make([]indexEntry, 0, min(int(count), len(body)/(indexStat+int(f)+2)))
	prev := ""
	for range count {
		e, used, err := parseIndexEntry(body, f, version, prev)
		if err != nil {
			return nil, err
		}
		if e.path < prev || e.path == prev && len(out) > 0 && e.stage <= out[len(out)-1].stage {
			return nil, corrupt("entry %.200q: order", e.path)
		}
		out = append(out, e)
		prev, body = e.path, body[used:]
	}
	return out, indexExtensions(body)
}

// indexExtensions refuses extensions that change what the entries mean: those
// whose name starts with a lower-case letter.
func indexExtensions(b []byte) error {
	for len(b) >= 8 {
		size := binary.BigEndian.Uint32(b[4:])
		if b[0] >= 'a' && b[0] <= 'z' {
			return fmt.Errorf("extension %q %w", b[:4], ErrUnsupported)
		}
		if uint64(size) > uint64(len(b)-8) {
			return corrupt("extension %q", b[:4])
		}
		b = b[8+size:]
	}
	return nil
}

func parseIndexEntry(b []byte, f Format, version uint32, prev string) (indexEntry, int, error) {
	fixed := indexStat + int(f) + 2
	if len(b) < fixed+1 {
		return indexEntry{}, 0, corrupt("unfinished entry")
	}
	u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	e := indexEntry{oid: rawOID(b[indexStat : indexStat+int(f)]), stat: statData{
		ctimeSec: u(0), ctimeNsec: u(1), mtimeSec: u(2), mtimeNsec: u(3),
		dev: u(4), ino: u(5), uid: u(7), gid: u(8), size: u(9),
	}}
	flags := binary.BigEndian.Uint16(b[fixed-2:])
	e.stage = int(flags >> 12 & 3)
	if flags&0x4000 != 0 { // extended flags: skip-worktree and intent-to-add, of no interest here
		if version < 3 {
			return indexEntry{}, 0, corrupt("extended entry")
		}
		fixed += 2
	}
	if e.mode = parseMode(fmt.Sprintf("%o", u(6))); e.mode == 0 || e.mode == ModeTree {
		return indexEntry{}, 0, corrupt("mode %o", u(6))
	}
	path, end, ok := indexPath(b, fixed, version, prev)
	if ok && path == "" { // stands for a path of the shared index
		return indexEntry{}, 0, fmt.Errorf("split index %w; git update-index --no-split-index joins it", ErrUnsupported)
	}
	if !ok || !safePath(path) {
		return indexEntry{}, 0, corrupt("path %.200q", path)
	}
	e.path = path
	return e, end, nil
}

// indexPath reads the path, which version 4 stores as what to drop from the one
// before and what to append, and returns where the entry ends.
func indexPath(b []byte, at int, version uint32, prev string) (path string, end int, ok bool) {
	if version == 4 {
		drop, used, ok := indexVarint(b[min(at, len(b)):])
		if !ok || drop > len(prev) {
			return "", 0, false
		}
		prev = prev[:len(prev)-drop]
		at += used
	}
	if at > len(b) {
		return "", 0, false
	}
	n := bytes.IndexByte(b[at:], 0)
	if n < 0 || n+len(prev) > MaxPath {
		return "", 0, false
	}
	name := string(b[at : at+n])
	if version == 4 {
		return prev + name, at + n + 1, true
	}
	end = (at + n + 8) &^ 7 // 1 to 8 NULs up to a multiple of 8
	return name, end, end <= len(b)
}

// indexVarint reads an offset as packs write it, without the lower bound of 1.
func indexVarint(b []byte) (v, used int, ok bool) {
	for used < len(b) && used < 4 {
		c := b[used]
		v |= int(c & 0x7f)
		used++
		if c&0x80 == 0 {
			return v, used, true
		}
		v = (v + 1) << 7
	}
	return 0, 0, false
}

func safePath(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if !safeName(part) {
			return false
		}
	}
	return true
}

// fresh reports that a file with this stat data is as the index noted it, and
// that it was not written in the same moment as the index ("racy").
func (e indexEntry) fresh(now statData, written time.Time) bool {
	mtime := time.Unix(int64(e.stat.mtimeSec), int64(e.stat.mtimeNsec))
	return e.stage == 0 && e.stat == now && e.stat != (statData{}) && mtime.Before(written)
}
