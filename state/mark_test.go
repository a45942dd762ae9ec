package state

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Nonces sort by the start of their commands, across years too, and two of the same moment differ. NonceOf returns the
// nonce of any mark.
func TestNewNonce(t *testing.T) {
	moments := []time.Time{
		time.Unix(0, 0), time.Date(2026, 11, 23, 11, 59, 59, 900e6, time.UTC), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 23, 12, 0, 0, 100e6, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2078, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	var nonces []string
	for _, at := range moments {
		one, other := NewNonce(at), NewNonce(at)
		if len(one) != 13 || strings.Trim(one, nonceAlphabet) != "" || one == other {
			t.Errorf("%s: %q and %q", at, one, other)
		}
		if NonceOf(Mark(one, 0)) != one || NonceOf(Mark(one, 12)) != one {
			t.Errorf("the marks of %q are not its own", one)
		}
		nonces = append(nonces, one)
	}
	if !slices.IsSorted(nonces) {
		t.Errorf("they do not sort as they began: %q", nonces)
	}
}

// Meet keeps the marks of announced commands only, and describes the first command at work.
func TestMeet(t *testing.T) {
	now := announcement().Renewed
	active, undoing := announcement(), announcement()
	active.Nonce = "first"
	undoing.Nonce, undoing.Phase = "second", Undoing
	other := lease.Group{Owner: "akash1other", DSeq: 1, GSeq: 1}
	ended := func(nonce string, unfinished ...lease.Group) *Announcement {
		a := announcement()
		a.Nonce, a.Phase, a.FencedBy, a.Groups = nonce, Fenced, nonce, unfinished
		return a
	}
	for name, tt := range map[string]struct {
		marks     []string
		announced []*Announcement
		want      []string
		// atWork starts and ends the description, empty for none.
		atWork [2]string
	}{
		"a claim without marks":                                {[]string{""}, []*Announcement{active}, []string{""}, [2]string{}},
		"a mark of an ended command":                           {[]string{"first"}, nil, []string{""}, [2]string{}},
		"a mark of a command at work":                          {[]string{"first"}, []*Announcement{active}, []string{"first"}, [2]string{"run first", "is at work"}},
		"a mark of a command's second run":                     {[]string{"first-1"}, []*Announcement{active}, []string{"first-1"}, [2]string{"run first", "is at work"}},
		"marks of an ended and of another one":                 {[]string{"gone", "second"}, []*Announcement{active, undoing}, []string{"", "second"}, [2]string{"run second", "gives back what it took"}},
		"marks of two commands":                                {[]string{"first", "second"}, []*Announcement{undoing, active}, []string{"first", "second"}, [2]string{"run first", "is at work"}},
		"a mark of a group that an ended command has finished": {[]string{"finished"}, []*Announcement{ended("finished", other)}, []string{""}, [2]string{}},
		"a mark of a group that it has not finished":           {[]string{"half"}, []*Announcement{ended("half", lease.Group{})}, []string{"half"}, [2]string{"run half", "unfinished work"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, announced := &Claim{}, map[string]*Announcement{}
			for _, mark := range tt.marks {
				c.Parts = append(c.Parts, Part{Run: mark})
			}
			for _, a := range tt.announced {
				announced[a.Nonce] = a
			}
			c.Meet(announced, now)
			var got []string
			for _, p := range c.Parts {
				got = append(got, p.Run)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("marks %q, want %q", got, tt.want)
			}
			if (c.AtWork == "") != (tt.atWork[0] == "") || !strings.HasPrefix(c.AtWork, tt.atWork[0]) || !strings.HasSuffix(c.AtWork, tt.atWork[1]) {
				t.Errorf("at work: %q, want %q", c.AtWork, tt.atWork)
			}
		})
	}
}

// The mark of a run that has only touched a part is stored as that of another run of the command, by any version; whatever
// becomes of that command, the lease holds the part.
func TestMarkOfATouch(t *testing.T) {
	const key = "route.net.akash.network/x"
	for run, stored := range map[string]string{
		"abc": "abc-500000000", "abc-7": "abc-500000007",
	} {
		p := Part{Key: key, Lease: lease.ID{Owner: runShop.Owner, DSeq: 1, GSeq: 1, OSeq: 1, Provider: runBlog.Owner}, Run: run, Held: true}
		if text := p.value(); !strings.Contains(text, `"run":"`+stored+`"`) {
			t.Errorf("%s is stored as %s", run, text)
		}
		now, err := readPart(key, p.value())
		if err != nil || !now.Same(p) || NonceOf(stored) != "abc" {
			t.Errorf("read again: %+v, %v", now, err)
		}
		c := &Claim{Parts: []Part{now, {Run: run}}}
		if c.SettleHeld(func(nonce string) bool { return nonce == "abc" }); c.Parts[0].Run != run {
			t.Errorf("the command does not know its own mark %s: %+v", run, c.Parts[0])
		}
		if c.SettleHeld(func(string) bool { return false }); c.Parts[0].Run != "" || c.Parts[0].Held || c.Parts[1].Run != run {
			t.Errorf("others read %+v", c.Parts)
		}
	}
}
