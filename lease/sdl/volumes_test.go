package sdl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// with is the SDL with parts replaced: each is followed by what stands there instead.
func with(t *testing.T, parts ...string) string {
	t.Helper()
	text := sdl
	for i := 0; i < len(parts); i += 2 {
		if !strings.Contains(text, parts[i]) {
			t.Fatalf("%q is not in the SDL", parts[i])
		}
		text = strings.Replace(text, parts[i], parts[i+1], 1)
	}
	return text
}

// readWorkloads reads a document with what its services run; of an SDL or a manifest the first group.
func readWorkloads(t *testing.T, text string) (*lease.Definition, lease.Problems) {
	t.Helper()
	of := id(1)
	if strings.Contains(text, "apiVersion") {
		of = nil
	}
	var def *lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Lease: of, Workloads: true}, func(d *lease.Definition) error {
		def = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return def, problems
}

// volumesOf are the names of the volumes of an SDL's service, in the order of Akash's manifest.
func volumesOf(t *testing.T, storage string, mounts ...string) string {
	t.Helper()
	params := ""
	for _, name := range mounts {
		params += name + ": {mount: /" + name + "}, "
	}
	def, problems := readWorkloads(t, with(t, "storage: {size: 1Gi}", "storage: ["+storage+"]", "image: nginx", "image: nginx\n    params: {storage: {"+params+"}}"))
	if def == nil {
		t.Fatalf("%s: %v", storage, problems)
	}
	var names []string
	for _, v := range def.Workloads.Services[0].Resources.Volumes {
		names = append(names, v.Name)
	}
	return strings.Join(names, " ")
}

// The order of volumes is that of Akash's library; builders walk through them in it.
func TestOrderOfVolumes(t *testing.T) {
	lasting := func(name, size string) string {
		return fmt.Sprintf("{name: %s, size: %s, attributes: {persistent: true, class: beta2}}", name, size)
	}
	for _, c := range []struct {
		storage string
		mounts  []string
		want    string
	}{
		{"{name: a, size: 2Gi}, {name: b, size: 1Gi}, {name: c, size: 1.5Gi}", nil, "b c a"},
		{"{name: a, size: 1Gi}, {name: b, size: 1024Mi}, {name: c, size: 1048576Ki}", nil, "c b a"},
		{"{name: a, size: 1Gi, attributes: {persistent: false}}, {name: b, size: 1Gi}", nil, "b a"},
		{"{name: a, size: 1Gi, attributes: {class: ram}}, {name: b, size: 1Gi, attributes: {class: ram}}", nil, "b a"},
		// Of volumes of one size those that last come last, by name.
		{lasting("b", "1Gi") + ", " + lasting("a", "1Gi") + ", {name: c, size: 1Gi}", []string{"a", "b"}, "c a b"},
		{lasting("b", "1Gi") + ", {name: c, size: 1Gi, attributes: {class: ram}}, " + lasting("a", "1Gi"), []string{"a", "b"}, "c a b"},
		// The size counts before the name.
		{lasting("a", "2Gi") + ", " + lasting("b", "1Gi"), []string{"a", "b"}, "b a"},
		{lasting("a", "1Gi") + ", {name: b, size: 2Gi}", []string{"a"}, "a b"},
	} {
		if got := volumesOf(t, c.storage, c.mounts...); got != c.want {
			t.Errorf("%s: %s, want %s", c.storage, got, c.want)
		}
	}
}

// Volumes that last come out the same however they are written down, and no volume gets lost.
func TestLastingVolumesHaveOneOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var items, names []string
		for i := range rapid.IntRange(1, 6).Draw(rt, "volumes") {
			names = append(names, fmt.Sprintf("v%d", i))
			items = append(items, fmt.Sprintf("{name: v%d, size: %dGi, attributes: {persistent: true, class: beta3}}", i, rapid.IntRange(1, 2).Draw(rt, "size")))
		}
		first := volumesOf(t, strings.Join(items, ", "), names...)
		again := volumesOf(t, strings.Join(rapid.Permutation(items).Draw(rt, "order"), ", "), names...)
		if got := strings.Fields(first); first != again || len(got) != len(names) || !slices.Equal(slices.Sorted(slices.Values(got)), names) {
			rt.Fatalf("%s, and in another order %s", first, again)
		}
	})
}
