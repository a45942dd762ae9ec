package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a lease may do with a thing: testdata/verdicts.txt has the table of docs/ledger.md row by row, and what decides
// between its rows.
//
//	decide   LEASE wants PART... of KIND THING | the claim on it | what uses it | options
//	fit      a number of parts, of notes and of groups that a claim has | what is wanted anew
func TestVerdicts(t *testing.T) {
	table(t, "verdicts.txt", map[string]func(*testing.T, string) string{
		"decide": decideInWords,
		"fit":    fitInWords,
	})
}

func decideInWords(t *testing.T, line string) string {
	f := fields(line, 4)
	who, what, _ := strings.Cut(f[0], " wants ")
	keys, thing, _ := strings.Cut(what, " of ")
	id := wordLease(t, who)
	want := wordClaim(t, thing+" "+who[:1]+":")
	hold := Hold{Kind: want.Kind, Thing: want.Thing, SharingKey: want.SharingKey}
	for key := range strings.FieldsSeq(keys) {
		hold.Parts = append(hold.Parts, wordPart(t, key+" "+who))
	}
	judge := Judge{Group: id.Group(), Now: wordsNow, Adopt: strings.Contains(f[3], "adopt"), OnePort: strings.Contains(f[3], "one-port")}
	var said []string
	for _, p := range hold.Parts {
		said = append(said, sayFinding(judge.Decide(hold, p.Key, wordClaim(t, f[1]), wordUses(t, f[2]))))
	}
	return strings.Join(said, "; ")
}

// sayFinding prints a verdict and everything known about the holder.
func sayFinding(f Finding) string {
	text := map[Verdict]string{Free: "free", Mine: "mine", Withheld: "withheld", Held: "held", Going: "going", Expired: "expired"}[f.Verdict]
	by := f.By
	if by == (Holder{}) {
		return text
	}
	text += " by"
	switch {
	case by.Lease.Owner != "":
		text += " " + by.Lease.String()
	case by.Owner != "":
		text += " owner " + by.Owner
	default:
		text += " nobody"
	}
	if by.Object != "" {
		text += " with " + by.Object
	}
	if by.Namespace != "" {
		text += " in " + by.Namespace
	}
	if by.Service != "" {
		text += fmt.Sprintf(" for %s:%d", by.Service, by.Port)
	}
	if !by.Since.IsZero() {
		text += " since " + by.Since.Format("15:04")
	}
	if by.Running {
		text += ", a run is at work"
	}
	if by.Reason != "" {
		text += " (" + by.Reason + ")"
	}
	return text
}

// fitInWords prints whether something fits: "480 parts 15 notes 40 groups | A/1 3".
func fitInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	var parts, notes, groups, more int
	if _, err := fmt.Sscanf(f[0], "%d parts %d notes %d groups", &parts, &notes, &groups); err != nil {
		t.Fatal(err)
	}
	var who string
	if _, err := fmt.Sscanf(f[1], "%s wants %d", &who, &more); err != nil {
		t.Fatal(err)
	}
	c := &Claim{Kind: Host, Thing: "a.example.com", Owner: "akash1a", Parts: make([]Part, 0, parts)}
	for i := range parts + notes {
		id := wordLease(t, fmt.Sprintf("A/%d", i%groups+1))
		p := wordPart(t, fmt.Sprintf("/%d %s", i, "A/1"))
		if p.Lease = id; i < parts {
			c.Parts = append(c.Parts, p)
		} else {
			c.Waits = append(c.Waits, p.Wait("", nil))
		}
	}
	want := Hold{Kind: Host, Thing: c.Thing}
	for i := range more {
		want.Parts = append(want.Parts, wordPart(t, fmt.Sprintf("/new%d %s", i, who)))
	}
	key := RouteKey("/new0")
	if strings.Contains(f[1], "beside what it has") {
		want.Parts = append(slices.Clone(c.Parts), want.Parts...)
	}
	found := Judge{Group: wordLease(t, who).Group(), Now: wordsNow}.Decide(want, key, c, nil)
	text := "fits"
	if found.Verdict == Held {
		text = "does not fit: " + found.By.Reason
	}
	if c.Full(wordLease(t, who).Group()) {
		text += "; nor does a note"
	}
	return text
}
