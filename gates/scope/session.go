package scope

import (
	"path"
	"strings"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxSession is the size limit of a session file, in bytes (unlazy).
const maxSession = 4096

// boundTo returns the one scope bound to the session, "" if none or several are.
// A session file that cannot be read binds nothing.
func boundTo(root string, scopes []string, session string) string {
	session = strings.TrimSpace(session)
	if session == "" {
		return ""
	}
	bound := ""
	for _, s := range scopes {
		f, err := safefile.ReadBeneath(root, path.Join(baseDir, s, "session"), maxSession)
		if err != nil || strings.TrimSpace(string(f.Data)) != session {
			continue
		}
		if bound != "" {
			return ""
		}
		bound = s
	}
	return bound
}
