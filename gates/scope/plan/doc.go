// Package plan chooses the tasks of a scope that may be started now, from what the
// planner wrote (PLAN.md, ACCESS.json) and what the files say has happened
// (ledgers, waves, leases).
//
// It promises the same answer for the same files, in less than 1 KB whatever the
// size of the plan; that two tasks it lets run together neither write what the
// other reads or writes nor depend on each other; and that a plan which is
// inconsistent with itself or with the files asks for a review and starts
// nothing. It writes nothing and takes no lock: the claim of a lease decides. The
// choice is not optimal, only deterministic. Structure registries are not read:
// one that is there asks for a review.
// It imports gates/scope, gates/ledger, gates/evidence and internal/*; cmd imports it.
package plan
