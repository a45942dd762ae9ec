package change

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reconcilers with other sources elect for themselves, whatever the sources are called; those with the same sources elect one.
func TestSet(t *testing.T) {
	of := func(source string, paths ...string) *reconcileFlags {
		return &reconcileFlags{source: source, files: files.Names{Files: paths}}
	}
	by := map[string]string{}
	for name, f := range map[string]*reconcileFlags{
		"--from-cluster":                       {fromCluster: true},
		"--heal":                               {heal: true},
		"--events":                             {bus: "bus"},
		"--from-cluster --heal":                {fromCluster: true, heal: true},
		"--source heal":                        of("heal", "leases"),
		"-f heal":                              of("", "heal"),
		"-f files/heal":                        of("", "files/heal"),
		"-f a -f b":                            of("", "a", "b"),
		"-f a,b":                               of("", "a,b"),
		"--source prod":                        of("prod", "leases"),
		"-f prod":                              of("", "prod"),
		"-f leases":                            of("", "leases"),
		"-f akash-manifests":                   of("", "akash-manifests"),
		"--source prod --heal":                 {source: "prod", files: files.Names{Files: []string{"leases"}}, heal: true},
		"--source prod --from-cluster":         {source: "prod", files: files.Names{Files: []string{"leases"}}, fromCluster: true},
		"--source prod --from-cluster --heal":  {source: "prod", files: files.Names{Files: []string{"leases"}}, fromCluster: true, heal: true},
		"--source heal --from-cluster":         {source: "heal", files: files.Names{Files: []string{"leases"}}, fromCluster: true},
		"--source events-prod --events --heal": {source: "events-prod", files: files.Names{Files: []string{"leases"}}, bus: "bus", heal: true},
	} {
		elects := state.ElectionName(f.set())
		if other := by[elects]; other != "" {
			t.Errorf("%s and %s elect by one Lease: %q", name, other, f.set())
		}
		by[elects] = name
	}
	if a, b := of("prod", "here").set(), of("prod", "there").set(); !slices.Equal(a, b) {
		t.Errorf("files of one source are %q and %q", a, b)
	}
	if a, b := of("", "a", "b").set(), of("", "b", "a").set(); !slices.Equal(a, b) {
		t.Errorf("the same files are %q and %q", a, b)
	}
}
