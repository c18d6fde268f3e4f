package ledger

import (
	"context"
	"fmt"
	"time"
)

// Patience is how long Parse and Apply read one ledger before they give up with
// a finding. An ordinary 8 MiB takes about a second.
const Patience = 10 * time.Second

// Parse reads a ledger. It always returns a document; what is wrong is in its
// findings. The document keeps data, which must not be changed afterwards. It
// is Parser.Parse with nothing known and Patience as the limit.
func Parse(path string, data []byte) *Document {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return Parser{}.Parse(ctx, path, data)
}

// Parse reads a ledger, like the function of the same name. When ctx is done
// before the page is understood, that is an error among the findings.
func (p Parser) Parse(ctx context.Context, path string, data []byte) *Document {
	d := &Document{Path: path, source: data}
	if len(data) > MaxSize {
		d.Findings = []Finding{{
			Rule:    "too-large",
			Message: fmt.Sprintf("the file has %d bytes, a ledger at most %d; split it into gates/*.md", len(data), MaxSize),
		}}
		return d
	}
	s := newScan(p, d, string(data))
	defer s.release()
	s.run()
	s.comparePage(ctx, data)
	d.places = s.places
	d.Findings = s.findings()
	return d
}
