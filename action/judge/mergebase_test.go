package judge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// TestMergeBase compares with git on the shapes that matter: whoever writes a
// branch chooses its parents and dates, and must not choose an older base.
func TestMergeBase(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("git is missing")
		}
		t.Skip("git is missing")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(date int, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		when := fmt.Sprintf("%d +0000", 1_700_000_000+date)
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=A",
			"GIT_COMMITTER_EMAIL=a", "GIT_AUTHOR_DATE=" + when, "GIT_COMMITTER_DATE=" + when,
		}
		out, err := cmd.Output()
		if err != nil && args[0] != "merge-base" {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git(0, "init", "-q")
	tree := git(0, "write-tree")
	made := map[string]string{}
	commit := func(name string, date int, parents ...string) {
		args := []string{"commit-tree", tree, "-m", name}
		for _, p := range parents {
			args = append(args, "-p", made[p])
		}
		made[name] = git(date, args...)
	}
	commit("a", 1)
	commit("b", 2, "a")
	commit("main", 3, "b")
	commit("old", 4, "a")                       // behind
	commit("ahead", 5, "main")                  // holds all of main
	commit("merge", 6, "old", "main")           // merged main
	commit("late", 9_000, "a")                  // dated into the future
	commit("crafted", 1, "late", "main")        // dated before its parents
	commit("early", -9_000, "b")                // dated before everything
	commit("stranger", 7)                       // no common history
	commit("cross1", 8, "main", "old")          // criss-cross: two best bases
	commit("cross2", 8, "old", "main")          //
	commit("deep", 10, "early", "late", "main") // an octopus
	repo, err := gitobj.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	oid := func(name string) gitobj.OID {
		o, err := gitobj.ParseOID(made[name])
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for one := range made {
		for two := range made {
			want := strings.Fields(git(0, "merge-base", "--all", made[one], made[two]))
			got, own, ok := mergeBase(t.Context(), repo, oid(one), oid(two))
			if ok != (len(want) == 1) || ok && got.String() != want[0] {
				t.Errorf("%s and %s: %v %v, git says %v", one, two, got, ok, want)
			}
			n := fmt.Sprint(len(own))
			if all := git(0, "rev-list", "--count", made[two]+".."+made[one]); ok && n != all {
				t.Errorf("%s..%s: %s commits, git says %s", two, one, n, all)
			}
		}
	}
}
