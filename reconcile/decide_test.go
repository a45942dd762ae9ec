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

// changed is a source that says something else of its leases.
func changed(said reconcile.Said) reconcile.Said {
	for _, def := range said.Definitions {
		def.Hash = "another"
	}
	return said
}

// ended are leases that are over.
func ended(leases ...int) map[lease.Group]bool {
	out := map[lease.Group]bool{}
	for _, n := range leases {
		out[group(n)] = true
	}
	return out
}

// A lease is applied if a source names it, and released only if the source that owns it was read as a whole and does not name it.
func TestDecide(t *testing.T) {
	const akash = reconcile.OfManifests
	tenth, follows, heals := reconcile.Limits{MaxDeletes: -1}, reconcile.Limits{Manifests: true}, reconcile.Limits{Heal: true}
	for name, tt := range map[string]struct {
		said   []reconcile.Said
		kept   map[lease.Group]reconcile.Kept
		limits reconcile.Limits
		want   string
		ended  map[lease.Group]bool
	}{
		"a source names it":                                {[]reconcile.Said{says("prod", true, 1)}, nil, tenth, "1: apply for prod", nil},
		"a source that owns nothing names it":              {[]reconcile.Said{says("", true, 1)}, nil, tenth, "1: apply", nil},
		"another source owns it":                           {[]reconcile.Said{says("prod", true, 1)}, keeps("test", 1), tenth, "1: apply for prod", nil},
		"nobody names it":                                  {nil, keeps("", 1), tenth, "", nil},
		"nobody names it, and all are healed":              {nil, keeps("", 1), reconcile.Limits{Heal: true}, "1: heal", nil},
		"a source that is not read here owns it":           {[]reconcile.Said{says("prod", true, 2)}, keeps("test", 1), tenth, "2: apply for prod", nil},
		"its source does not name it any more":             {[]reconcile.Said{says("prod", true, 2)}, keeps("prod", 2), tenth, "1: empty of prod, 2: apply for prod", nil},
		"its source could not be read as a whole":          {[]reconcile.Said{says("prod", false, 2)}, keeps("prod", 2), tenth, "2: apply for prod", nil},
		"so it is healed":                                  {[]reconcile.Said{says("prod", false)}, keeps("prod", 1), reconcile.Limits{Heal: true}, "1: heal", nil},
		"its source has not said anything yet":             {[]reconcile.Said{{}}, keeps("prod", 1), tenth, "", nil},
		"a source that owns nothing names no other":        {[]reconcile.Said{says("", true, 2)}, keeps("", 2), tenth, "2: apply", nil},
		"a source may be empty":                            {[]reconcile.Said{says("prod", true)}, keeps("prod", 1), tenth, "1: empty of prod", nil},
		"two sources name it":                              {[]reconcile.Said{says("prod", true, 1), says("test", true, 1)}, nil, tenth, "1: lease akash1a/1/1 is defined twice, at 1.yaml and at 1.yaml, and is left as it is: define it once", nil},
		"too many are over at once":                        {[]reconcile.Said{says("prod", true, 3)}, keeps("prod", 3), tenth, "1: too many, 2: too many, 3: apply for prod", nil},
		"as many as are allowed":                           {[]reconcile.Said{says("prod", true, 3)}, keeps("prod", 3), reconcile.Limits{MaxDeletes: 2}, "1: empty of prod, 2: empty of prod, 3: apply for prod", nil},
		"its Manifest names it":                            {[]reconcile.Said{says(akash, true, 1)}, keeps(akash, 1), follows, "1: apply for akash-manifests", nil},
		"its Manifest is gone":                             {[]reconcile.Said{says(akash, true, 2)}, keeps(akash, 2), follows, "2: apply for akash-manifests", nil},
		"its Manifest is gone, and it is over":             {[]reconcile.Said{says(akash, true, 2)}, keeps(akash, 2), follows, "1: empty of akash-manifests, 2: apply for akash-manifests", ended(1)},
		"many leases of Akash are over at once":            {[]reconcile.Said{says(akash, true)}, keeps(akash, 3), follows, "1: empty of akash-manifests, 2: empty of akash-manifests, 3: empty of akash-manifests", ended(1, 2, 3)},
		"the Manifests could not be read":                  {[]reconcile.Said{says(akash, false)}, keeps(akash, 1), follows, "", ended(1)},
		"all are healed, and its Manifest names it":        {[]reconcile.Said{says(akash, true, 1)}, keeps(akash, 1), heals, "1: heal", nil},
		"all are healed, and its Manifest has changed":     {[]reconcile.Said{changed(says(akash, true, 1))}, keeps(akash, 1), heals, "", nil},
		"all are healed, and its Manifest is gone":         {[]reconcile.Said{says(akash, true)}, keeps(akash, 1), heals, "", nil},
		"all are healed, its Manifest is gone, it is over": {[]reconcile.Said{says(akash, true)}, keeps(akash, 1), heals, "1: empty of akash-manifests", ended(1)},
		"all are healed, and Manifests are not read":       {nil, keeps(akash, 1), heals, "", nil},
		"all are healed, and nothing is kept of it":        {[]reconcile.Said{says(akash, true, 1)}, nil, heals, "", nil},
		"none are allowed":                                 {[]reconcile.Said{says("prod", true, 1)}, keeps("prod", 2), reconcile.Limits{}, "1: apply for prod, 2: too many", nil},
	} {
		t.Run(name, func(t *testing.T) {
			view := reconcile.NewView(tt.said, tt.kept, tt.ended, tt.limits)
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
		view := reconcile.NewView([]reconcile.Said{says("prod", true, 2, 3)}, kept, nil, reconcile.Limits{MaxDeletes: limit})
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
	view := reconcile.NewView([]reconcile.Said{said}, keeps("prod", 3), nil, reconcile.Limits{MaxDeletes: -1})
	if got := textOf(view.Decide(group(1))) + ", " + textOf(view.Decide(group(2))); got != ", empty of prod" {
		t.Error(got)
	}
}

// The error says how many leases are over, and what to type if they are.
func TestManyDeletesSaysWhatToType(t *testing.T) {
	view := reconcile.NewView([]reconcile.Said{says("prod", true, 30)}, keeps("prod", 30), nil, reconcile.Limits{MaxDeletes: -1})
	const want = "source prod no longer names 29 leases of 30, and at most 3 may be released at once; if these leases are over, release them with --max-deletes=29"
	if got := view.Decide(group(1)).Err; got == nil || got.Error() != want {
		t.Error(got)
	}
}
