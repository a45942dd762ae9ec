package reconcile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
)

func group(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }

// defined is a definition of a lease with a service, or of one that defines nothing.
func defined(n int, empty bool) *lease.Definition {
	d := &lease.Definition{Lease: lease.ID{Owner: "akash1a", DSeq: uint64(n), GSeq: 1, OSeq: 1, Provider: "akash1p"}, At: lease.Place{File: fmt.Sprintf("%d.yaml", n)}}
	if !empty {
		d.Services = []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 80, Hosts: []lease.Host{{Name: "a.example.com"}}}}}}
	}
	return d
}

// says is what a source says that names these leases.
func says(source string, complete bool, leases ...int) reconcile.Said {
	var defs []*lease.Definition
	for _, n := range leases {
		defs = append(defs, defined(n, false))
	}
	return reconcile.SaidOf(source, sources.Set{Definitions: defs, Complete: complete})
}

// keeps is what the ledger keeps of leases of a source, up to a number.
func keeps(source string, upTo int) map[lease.Group]reconcile.Kept {
	kept := map[lease.Group]reconcile.Kept{}
	for n := 1; n <= upTo; n++ {
		kept[group(n)] = reconcile.Kept{Source: source, Definition: defined(n, false)}
	}
	return kept
}

// A lease is applied if a source names it, and released only if the source that owns it was read as a whole and does not name it.
func TestDecide(t *testing.T) {
	tenth := reconcile.Limits{MaxDeletes: -1}
	for name, tt := range map[string]struct {
		said   []reconcile.Said
		kept   map[lease.Group]reconcile.Kept
		limits reconcile.Limits
		want   string
	}{
		"a source names it":                         {[]reconcile.Said{says("prod", true, 1)}, nil, tenth, "1: apply for prod"},
		"a source that owns nothing names it":       {[]reconcile.Said{says("", true, 1)}, nil, tenth, "1: apply"},
		"another source owns it":                    {[]reconcile.Said{says("prod", true, 1)}, keeps("test", 1), tenth, "1: apply for prod"},
		"nobody names it":                           {nil, keeps("", 1), tenth, ""},
		"nobody names it, and all are healed":       {nil, keeps("", 1), reconcile.Limits{Heal: true}, "1: heal"},
		"a source that is not read here owns it":    {[]reconcile.Said{says("prod", true, 2)}, keeps("test", 1), tenth, "2: apply for prod"},
		"its source does not name it any more":      {[]reconcile.Said{says("prod", true, 2)}, keeps("prod", 2), tenth, "1: empty of prod, 2: apply for prod"},
		"its source could not be read as a whole":   {[]reconcile.Said{says("prod", false, 2)}, keeps("prod", 2), tenth, "2: apply for prod"},
		"so it is healed":                           {[]reconcile.Said{says("prod", false)}, keeps("prod", 1), reconcile.Limits{Heal: true}, "1: heal"},
		"its source has not said anything yet":      {[]reconcile.Said{{}}, keeps("prod", 1), tenth, ""},
		"a source that owns nothing names no other": {[]reconcile.Said{says("", true, 2)}, keeps("", 2), tenth, "2: apply"},
		"a source may be empty":                     {[]reconcile.Said{says("prod", true)}, keeps("prod", 1), tenth, "1: empty of prod"},
		"two sources name it":                       {[]reconcile.Said{says("prod", true, 1), says("test", true, 1)}, nil, tenth, "1: lease akash1a/1/1 is defined twice, at 1.yaml and at 1.yaml, and is left as it is: define it once"},
		"too many are over at once":                 {[]reconcile.Said{says("prod", true, 3)}, keeps("prod", 3), tenth, "1: too many, 2: too many, 3: apply for prod"},
		"as many as are allowed":                    {[]reconcile.Said{says("prod", true, 3)}, keeps("prod", 3), reconcile.Limits{MaxDeletes: 2}, "1: empty of prod, 2: empty of prod, 3: apply for prod"},
		"none are allowed":                          {[]reconcile.Said{says("prod", true, 1)}, keeps("prod", 2), reconcile.Limits{}, "1: apply for prod, 2: too many"},
	} {
		t.Run(name, func(t *testing.T) {
			view := reconcile.NewView(tt.said, tt.kept, tt.limits)
			var got []string
			for _, g := range view.Groups() {
				if text := textOf(view.Decide(g)); text != "" {
					got = append(got, fmt.Sprintf("%d: %s", g.DSeq, text))
				}
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

func textOf(d reconcile.Decision) string {
	if _, many := errors.AsType[*reconcile.ManyDeletesError](d.Err); many {
		return "too many"
	}
	switch {
	case d.Err != nil:
		return d.Err.Error()
	case d.Owned && d.Action == reconcile.Apply && len(d.Definition.Services) == 0:
		return "empty of " + d.Source
	case d.Owned:
		return string(d.Action) + " of " + d.Source
	case d.Source != "":
		return string(d.Action) + " for " + d.Source
	}
	return string(d.Action)
}

// A lease that has been emptied is released, whatever else is over, and does not count with that.
func TestDecideEmptied(t *testing.T) {
	kept := keeps("prod", 4)
	kept[group(1)] = reconcile.Kept{Source: "prod", Definition: defined(1, true)}
	for limit, want := range map[int]string{0: "release of prod, too many", 1: "release of prod, empty of prod"} {
		view := reconcile.NewView([]reconcile.Said{says("prod", true, 2, 3)}, kept, reconcile.Limits{MaxDeletes: limit})
		if got := textOf(view.Decide(group(1))) + ", " + textOf(view.Decide(group(4))); got != want {
			t.Errorf("%d: %s", limit, got)
		}
		if over := view.Over(); len(over) != 2 {
			t.Errorf("over are %v", over)
		}
	}
}

// A lease that its source names, and of which it could not be read what it is to be, is not over, nor does it keep others that are.
func TestDecideLeft(t *testing.T) {
	left := defined(1, false).Lease.Namespace()
	said := reconcile.SaidOf("prod", sources.Set{Definitions: []*lease.Definition{defined(3, false)}, Complete: true, Left: map[string]bool{left: true}})
	view := reconcile.NewView([]reconcile.Said{said}, keeps("prod", 3), reconcile.Limits{MaxDeletes: -1})
	if got := textOf(view.Decide(group(1))) + ", " + textOf(view.Decide(group(2))); got != ", empty of prod" {
		t.Error(got)
	}
}

// The error says how many leases are over, and what to type if they are.
func TestManyDeletesSaysWhatToType(t *testing.T) {
	view := reconcile.NewView([]reconcile.Said{says("prod", true, 30)}, keeps("prod", 30), reconcile.Limits{MaxDeletes: -1})
	const want = "source prod no longer names 29 leases of 30, and at most 3 may be released at once; if these leases are over, release them with --max-deletes=29"
	if got := view.Decide(group(1)).Err; got == nil || got.Error() != want {
		t.Error(got)
	}
}
