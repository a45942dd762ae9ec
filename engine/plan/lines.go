package plan

// Run is lines that two texts have at the same place, or, where they differ, those of each.
type Run struct {
	Same          bool
	Before, After []string
}

// Lines compares two texts: the longest run of lines that both have stays, and so on in what is before and after it.
func Lines(before, after []string) []Run {
	c := texts{before: before, after: after, places: map[string][]int{}}
	for i, line := range after {
		c.places[line] = append(c.places[line], i)
	}
	// In a long text no run begins with a line that is everywhere: there would be too many to look at.
	if often := len(after)/100 + 1; len(after) >= 200 {
		for line, at := range c.places {
			if len(at) > often {
				delete(c.places, line)
			}
		}
	}
	c.between(0, len(before), 0, len(after))
	return c.runs
}

type texts struct {
	before, after []string
	// places are where each line is in after.
	places map[string][]int
	runs   []Run
}

// between compares before[i:iEnd] with after[j:jEnd].
func (c *texts) between(i, iEnd, j, jEnd int) {
	if i == iEnd && j == jEnd {
		return
	}
	k, l, n := c.longest(i, iEnd, j, jEnd)
	if n == 0 {
		c.runs = append(c.runs, Run{Before: c.before[i:iEnd], After: c.after[j:jEnd]})
		return
	}
	c.between(i, k, j, l)
	if last := len(c.runs) - 1; last >= 0 && c.runs[last].Same {
		run := &c.runs[last]
		run.Before, run.After = c.before[k-len(run.Before):k+n], c.after[l-len(run.After):l+n]
	} else {
		c.runs = append(c.runs, Run{Same: true, Before: c.before[k : k+n], After: c.after[l : l+n]})
	}
	c.between(k+n, iEnd, l+n, jEnd)
}

// longest returns where the longest run of lines is that both parts have, the first of the longest ones, and how long it is.
func (c *texts) longest(iStart, iEnd, jStart, jEnd int) (i, j, n int) {
	i, j = iStart, jStart
	var ending map[int]int // how many lines are the same up to the former one of before, by the place in after
	for at := iStart; at < iEnd; at++ {
		next := map[int]int{}
		for _, place := range c.places[c.before[at]] {
			if place < jStart || place >= jEnd {
				continue
			}
			next[place] = ending[place-1] + 1
			if next[place] > n {
				n = next[place]
				i, j = at-n+1, place-n+1
			}
		}
		ending = next
	}
	for i > iStart && j > jStart && c.before[i-1] == c.after[j-1] {
		i, j, n = i-1, j-1, n+1
	}
	for i+n < iEnd && j+n < jEnd && c.before[i+n] == c.after[j+n] {
		n++
	}
	return i, j, n
}
