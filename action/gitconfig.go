package action

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// leak names the first setting that carries or fetches a credential, or "".
func leak(c gitobj.Config) string {
	for name, value := range c.All() {
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "http.") && strings.HasSuffix(lower, ".extraheader"):
			return "http…extraheader"
		case strings.HasPrefix(lower, "include.") || strings.HasPrefix(lower, "includeif."):
			return "includeIf"
		case strings.HasPrefix(lower, "credential."):
			return "credential helper"
		case strings.HasSuffix(lower, ".url") && userinfo(value), strings.HasSuffix(lower, ".pushurl") && userinfo(value):
			return "a password in a remote's URL"
		case strings.HasPrefix(lower, "url.") && userinfo(name):
			return "a password in a url…insteadOf"
		}
	}
	return ""
}

// userinfo reports a password or token in a URL; ssh's user name git@ is none.
func userinfo(s string) bool {
	s = strings.TrimPrefix(s, "url.")
	u, err := url.Parse(s)
	if err != nil {
		return strings.Contains(s, "@") && strings.Contains(s, "://")
	}
	if u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return password || u.Scheme == "http" || u.Scheme == "https"
}

// kept are the settings that a copied repository needs to be read; everything else
// (credentials, hooks, filters, programs to run) stays behind.
var kept = [...]string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.symlinks", "core.ignorecase",
	"core.precomposeunicode", "core.autocrlf", "core.eol", "core.sparsecheckout", "core.sparsecheckoutcone", "core.worktree",
	"extensions.objectformat", "extensions.compatobjectformat", "extensions.refstorage",
}

// cleanConfig is the configuration that a copy of a repository gets.
func cleanConfig(data []byte) ([]byte, error) {
	c, err := gitobj.ParseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read the repository's configuration: %w", err)
	}
	var b strings.Builder
	for name, value := range c.All() {
		section, key, _ := strings.Cut(name, ".")
		switch {
		case slices.Contains(kept[:], name):
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, key, quoteConfig(value))
		case strings.HasPrefix(name, "remote.") && strings.HasSuffix(name, ".url"):
			if remote := strings.TrimSuffix(key, ".url"); !userinfo(value) && plainName(remote) {
				fmt.Fprintf(&b, "[remote %q]\n\turl = %s\n\tfetch = +refs/heads/*:refs/remotes/%s/*\n", remote, quoteConfig(value), remote)
			}
		}
	}
	return []byte(b.String()), nil
}

func plainName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// quoteConfig writes a value as git reads it back.
func quoteConfig(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}
