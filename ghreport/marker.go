package ghreport

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// marker is the hidden first line of our comment. It serves to find the comment
// and to order runs; no result is ever read from it. Whoever can edit the comment
// can edit the marker: the worst that does is one comment too many or too old,
// and a body that no longer matches its sum is rewritten.
type marker struct {
	Name    string `json:"n"` // digest of the check's name
	Head    string `json:"h"`
	Run     int64  `json:"r"`
	Attempt int    `json:"a"`
	Content string `json:"c"` // digest of the content without what differs from run to run
	States  string `json:"s"` // digest of verdict and states
	Sum     string `json:"b"` // digest of the visible body
}

const markerHead = "<!-- gatesworn:"

var markerLine = lazyregexp.New(`^<!-- gatesworn:([0-9a-f]+) -->(\r?\n|$)`)

// maxMarker bounds the marker's line; it is taken off the comment's budget.
const maxMarker = 1024

func (m marker) String() string {
	data, err := json.Marshal(m)
	if err != nil {
		return "" // strings and numbers always marshal
	}
	return escape.Marker(data) + "\n"
}

// parseMarker finds a marker at the very start of a body: one that is quoted in a
// reply is not there.
func parseMarker(body string) (m marker, visible string, ok bool) {
	f := markerLine.FindStringSubmatch(body[:min(len(body), 2*maxMarker)])
	if f == nil {
		return marker{}, "", false
	}
	data, err := hex.DecodeString(f[1])
	if err != nil || json.Unmarshal(data, &m) != nil || m.Name == "" {
		return marker{}, "", false
	}
	return m, body[len(f[0]):], true
}

// named is what Name holds for a check's name.
func named(check string) string { return digest(check)[:16] }

// sum is insensitive to what the service may do to line ends and outer blanks.
func sum(visible string) string {
	return digest(strings.TrimSpace(strings.ReplaceAll(visible, "\r\n", "\n")))[:32]
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// states digests the verdict and every gate's state.
func states(r *gates.Report) string {
	var b strings.Builder
	b.WriteString(string(r.Verdict) + "\n" + string(r.Conclusion) + "\n")
	for i := range r.Ledgers {
		b.WriteString(r.Ledgers[i].Path + "\n")
		for j := range r.Ledgers[i].Gates {
			g := &r.Ledgers[i].Gates[j]
			b.WriteString(g.ID + " " + string(g.State) + "\n")
		}
	}
	return digest(b.String())[:32]
}
