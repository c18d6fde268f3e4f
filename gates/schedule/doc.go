// Package schedule decides which check may start next: order, needs, conflicts.
//
// It promises that a task starts only after all its needs are met, that two
// tasks of which one writes what the other reads or writes are never running at
// the same time, that every task either runs or is reported as blocked, and that
// the same answers in the same order lead to the same schedule. Among what is
// ready, what has the longest expected way to the end of the run starts first.
//
// It is pure: it starts nothing, reads no clock, and files of recorded durations
// pass through it as bytes. It does not know what a task is: tasks are numbers.
// It imports nothing of ours; gates, gates/scope and cmd import it.
package schedule
