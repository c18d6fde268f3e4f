package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// slowGroups compares every pair, as the definition says.
func slowGroups(tasks []Task) []int {
	u := make(union, len(tasks))
	for i := range u {
		u[i] = i
	}
	overlap := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(p string) bool {
			return slices.ContainsFunc(b, func(q string) bool { return Overlap(p, q) })
		})
	}
	for i, a := range tasks {
		for _, n := range a.Needs {
			if n >= 0 && n < len(tasks) {
				u.join(i, n)
			}
		}
		for j, b := range tasks[:i] {
			if overlap(a.Writes, b.Writes) || overlap(a.Writes, b.Reads) || overlap(a.Reads, b.Writes) {
				u.join(i, j)
			}
		}
	}
	return u.numbers()
}

func TestGroupsAreWhatPairsSay(t *testing.T) {
	t.Parallel()
	pattern := rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/*", "ab", "b/**", "b/c", "**", "../x", "@db", "@db2", ".", "c//d", "a/./b"})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		tasks := make([]Task, n)
		for i := range tasks {
			tasks[i].Reads = rapid.SliceOfN(pattern, 0, 2).Draw(t, "reads")
			tasks[i].Writes = rapid.SliceOfN(pattern, 0, 1).Draw(t, "writes")
			tasks[i].Needs = rapid.SliceOfN(rapid.IntRange(-1, n), 0, 1).Draw(t, "needs")
		}
		if got, want := Groups(tasks), slowGroups(tasks); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v for %+v", got, want, tasks)
		}
	})
}

func TestGroupsAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	got := Groups([]Task{{}, {Writes: []string{"a"}}, {Needs: []int{3}}, {}, {Reads: []string{"a/b"}}, {Reads: []string{"a"}}})
	if want := []int{0, 1, 2, 2, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestManyConflictsStayCheap would not end if pairs were compared.
func TestManyConflictsStayCheap(t *testing.T) {
	t.Parallel()
	tasks := make([]Task, 50_000)
	for i := range tasks {
		tasks[i] = Task{Reads: []string{"src"}, Writes: []string{fmt.Sprintf("out/%d", i)}}
	}
	tasks = append(tasks, Task{Writes: []string{"src/gen"}})
	got := Groups(tasks)
	if slices.Max(got) != 0 {
		t.Errorf("%d groups", slices.Max(got)+1)
	}
}

func TestBalance(t *testing.T) {
	t.Parallel()
	s := time.Second
	if got, want := Balance([]time.Duration{1 * s, 5 * s, 4 * s, 2 * s, 0, 0}, 2), []int{0, 0, 1, 1, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Balance([]time.Duration{1, 2}, 0); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("%v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		weights := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 100), func(i int) time.Duration { return time.Duration(i) })).Draw(t, "weights")
		sums := make([]time.Duration, n)
		var total, largest time.Duration
		for i, p := range Balance(weights, n) {
			sums[p] += weights[i]
			total += weights[i]
			largest = max(largest, weights[i])
		}
		if slices.Max(sums) > total/time.Duration(n)+largest { // Graham 1966
			t.Fatalf("%v for %v", sums, weights)
		}
	})
}
