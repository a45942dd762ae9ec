package lease_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
)

// Of an address that was typed wrong, nearly all are found.
func TestCheckWallet(t *testing.T) {
	for _, address := range []string{
		"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn",
		"akash1xqnd68gm", // one byte
		leasetest.Wallet("alice"), leasetest.Wallet(""),
	} {
		if err := lease.CheckWallet(address); err != nil {
			t.Error(err)
		}
		for i := range len(address) {
			for _, c := range []string{"q", "z", "b", "1", ""} {
				if wrong := address[:i] + c + address[i+1:]; wrong != address && lease.CheckWallet(wrong) == nil {
					t.Errorf("%s is taken for right", wrong)
				}
			}
		}
	}
	for _, address := range []string{
		"", "1", "akash1", "akash", "a1qqqqq", "é1qqqqqq", "a12uel5l",
		"cosmos1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", "AKASH1H24FLJT7P0NH82CQ0ZA0UHSCT3SFWSFU9W3C9H",
		"akash124zpj3",        // no byte
		"akash1p99sgqr",       // five bits, which are no byte
		"akash1qp989uxa",      // bits beyond the byte
		"akash1aaaaaaaaaaaaa", // the form alone
	} {
		if lease.CheckWallet(address) == nil {
			t.Errorf("%q is taken for right", address)
		}
	}
}

// Messages repeat little of what they are about, and nothing that a terminal obeys.
func TestMessagesAreShort(t *testing.T) {
	short, long := strings.Repeat("x", 512), strings.Repeat("é", 300)
	if lease.Clip(short) != short || lease.Clip(short+"y") != short[:100]+"…" || lease.Clip(long) != long[:100]+"…" || lease.Clip("x"+long) != "x"+long[:98]+"…" {
		t.Errorf("clipped: %q %q %q", lease.Clip(short+"y"), lease.Clip(long), lease.Clip("x"+long))
	}
	if got := lease.Message("%s %d %s", short+"y", 7, "z"); got != short[:100]+"… 7 z" {
		t.Errorf("message %q", got)
	}
	for n, whole := range map[int]bool{2048: true, 2049: false} {
		text := strings.Repeat("x", 512)
		got := lease.Message(strings.Repeat("%s", 4)+strings.Repeat("y", n-2048), text, text, text, text)
		if (len(got) == n) != whole || !whole && got != strings.Repeat("x", 2048)+"…" {
			t.Errorf("a message of %d bytes has %d", n, len(got))
		}
	}
}

func TestPlaces(t *testing.T) {
	step := func(keys ...any) (s *lease.Step) {
		for _, key := range keys {
			if i, ok := key.(int); ok {
				s = &lease.Step{Parent: s, Index: i}
			} else {
				s = &lease.Step{Parent: s, Key: key.(string)}
			}
		}
		return s
	}
	long := strings.Repeat("k", 512)
	for want, at := range map[string]lease.Place{
		"":                              {},
		"f":                             {File: "f"},
		"f:2:3":                         {File: "f", Line: 2, Column: 3},
		"f:2:3: spec.a[4].b":            {File: "f", Line: 2, Column: 3, Field: step("spec", "a", 4, "b")},
		"spec":                          {Field: step("spec")},
		"[0].a":                         {Field: step(0, "a")},
		"f: p":                          {File: "f", Path: "p", Field: step("spec")},
		`a["b.c"]["d/e"]["f g"]["[h]"]`: {Field: step("a", "b.c", "d/e", "f g", "[h]")},
		`["\x1b[2J"]["\u202e"].é`:       {Field: step("\x1b[2J", "\u202e", "é")},
		`["\xff"]["\"b"]`:               {Field: step("\xff", `"b`)},
		long:                            {Field: step(long)},
		`["` + long[:100] + `…"].b`:     {Field: step(long+"k", "b")},
	} {
		if got := at.String(); got != want {
			t.Errorf("the place is %s, want %s", got, want)
		}
	}
}

// Problems are told in the order of the document, each once; those of different objects are different.
func TestProblemsInOrder(t *testing.T) {
	at := func(file string, line, column int, path string) lease.Place {
		return lease.Place{File: file, Line: line, Column: column, Path: path}
	}
	var ps lease.Problems
	ps.Add(at("f", 2, 1, "b"), "second %d", 2)
	ps.Warn(at("f", 1, 5, "a"), "doubt")
	ps.Add(at("f", 1, 4, "a"), "first")
	ps.Add(at("f", 1, 4, "again"), "first")
	ps.Add(at("f", 1, 4, "a"), "other")
	ps.Add(at("manifests/x", 0, 0, "a"), "first")
	ps.Add(at("manifests/x", 0, 0, "a"), "first")
	ps.Add(at("manifests/x", 0, 0, "b"), "first")
	ps.Add(at("manifests/y", 0, 0, "a"), "first")
	warnings, errors := ps.Warnings(), ps.Errors()
	if len(warnings) != 1 || warnings.Failed() || len(errors) != 8 || !errors.Failed() || !ps.Failed() || lease.Problems(nil).Failed() {
		t.Errorf("%d warnings and %d errors", len(warnings), len(errors))
	}
	want := "manifests/x: a: first\nmanifests/x: b: first\nmanifests/y: a: first\nf:1:4: a: first\nf:1:4: a: other\nf:1:5: a: doubt\nf:2:1: b: second 2"
	if got := ps.Sorted().Error(); got != want {
		t.Errorf("the problems are\n%s\nwant\n%s", got, want)
	}
	if got := (lease.Problem{Message: "m"}).Error(); got != "m" {
		t.Errorf("a problem without a place: %q", got)
	}
}

// A definition that the program made has no lines, and none is told.
func TestProblemsWithoutLines(t *testing.T) {
	t.Parallel()
	d := full()
	d.Services[1].Expose[0].IP = "publik"
	if said := lease.Check(d).Error(); !strings.Contains(said, `no endpoint named "publik"; did you mean "public"?`) {
		t.Error(said)
	}
}
