package scope

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// checker is unlazy's side of the files, as the reference describes them, in the
// language unlazy is written in: it reads what we wrote and says what is wrong.
const checker = `
const fs = require("fs"), crypto = require("crypto"), path = require("path");
const root = process.argv[1], locks = path.join(root, ".unlazy", "locks"), bad = [];
const want = (ok, what) => { if (!ok) bad.push(what); };
const iso = (s) => typeof s === "string" && new Date(s).toISOString() === s;
const hash = (s) => crypto.createHash("sha256").update(s).digest("hex").slice(0, 24);
const same = (f) => { const t = fs.readFileSync(f, "utf8"), v = JSON.parse(t); want(JSON.stringify(v, null, 2) + "\n" === t, f + ": layout"); want((fs.statSync(f).mode & 0o777) === 0o600, f + ": mode"); return v; };
let leases = 0, held = 0, waves = 0;
for (const n of fs.readdirSync(locks)) {
  const f = path.join(locks, n);
  if (n.endsWith(".lease")) {
    const v = same(f); leases++;
    want(Object.keys(v).join() === "scope,leaf,globs,pid", n + ": members");
    want(n === hash(v.scope + "::" + v.leaf) + ".lease" && Number.isInteger(v.pid) && v.globs.length > 0, n + ": values");
  } else {
    const v = JSON.parse(fs.readFileSync(f, "utf8")); held++;
    want(Object.keys(v).join() === "token,pid,target,at" && n === hash(v.target) + ".filelock" && iso(v.at), n + ": lock");
    want((fs.statSync(f).mode & 0o777) === 0o600, n + ": mode");
  }
}
const d = same(path.join(root, ".unlazy", "s", "dispatch.json"));
want(Object.keys(d).join() === "schema,waves" && d.schema === 1, "dispatch");
for (const [w, v] of Object.entries(d.waves)) {
  waves++;
  want(Object.keys(v).join().startsWith("leaves,state,openedAt,started,returned"), w + ": members");
  for (const l of v.leaves) if (v.state === "complete") want(iso(v.started[l].at) && iso(v.returned[l].at) && v.returned[l].at >= v.sealedAt && v.completedAt >= v.returned[l].at, w + ": times");
}
want(leases === 2 && held === 1 && waves === 2, "counts " + [leases, held, waves]);
want(fs.readFileSync(path.join(root, ".unlazy", "s", "session"), "utf8") === "abc\n", "session");
for (const l of fs.readFileSync(path.join(root, ".unlazy", "s", "status.log"), "utf8").trimEnd().split("\n")) want(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z dispatch \S+ (opened: .+|started \S+ as .+|sealed|returned \S+|abandoned: .+)$/.test(l) && iso(l.split(" ")[0]), "status: " + l);
console.log(bad.length ? bad.join("\n") : "conforms");
`

func TestFilesConformForNode(t *testing.T) {
	t.Parallel()
	if filepath.Separator != '/' {
		t.Skip("needs file modes")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("node is required")
		}
		t.Skip("needs node")
	}
	root := tree(t, ".unlazy/s/")
	tr := Tree{root, time.Now}
	ctx := t.Context()
	must(t, tr.Bind("s", "abc"))
	for _, l := range []string{"leaf-a", "leaf-b"} {
		_, err := tr.Claim(ctx, "s", l, []string{"src/" + l + "/**", "é<&>\U0001F600"[:2] + l})
		must(t, err)
	}
	for _, w := range []string{"w1", "2"} {
		_, err := tr.OpenWave(ctx, "s", w, []string{"leaf-a"})
		must(t, err)
	}
	_, err = tr.Launch(ctx, "s", "w1", "leaf-a", "agent <&> \"é\"")
	must(t, err)
	_, err = tr.Seal(ctx, "s", "w1")
	must(t, err)
	_, err = tr.ReturnLeaf(ctx, "s", "w1", "leaf-a")
	must(t, err)
	_, err = tr.Abandon(ctx, "s", "2", "why not")
	must(t, err)
	lock, err := FileLock(ctx, root, filepath.Join(root, "GATES.md"), time.Now)
	must(t, err)
	out, err := exec.Command(node, "-e", checker, root).CombinedOutput()
	must(t, lock.Release())
	if err != nil || string(out) != "conforms\n" {
		t.Errorf("%v: %s", err, out)
	}
}
