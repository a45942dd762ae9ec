package kept_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

const small = `[{"name":"web","expose":[{"port":80,"global":true,"hosts":["a.example.com"]},{"port":1,"global":true,"ip":"public"}]}]`

// The name of a kept definition depends on its deployment group. No host and no claim has such a name.
func TestNames(t *testing.T) {
	other := shop
	other.OSeq, other.Provider = 2, "akash1other"
	if kept.Name(shop.Group()) != kept.Name(other.Group()) {
		t.Error("another order of the group has another name")
	}
	group := shop.Group()
	group.GSeq++
	if kept.Name(shop.Group()) == kept.Name(group) {
		t.Error("two groups have one name")
	}
	for name, is := range map[string]bool{
		kept.Name(shop.Group()): true, "df--x": true, "df-x": false, "shop.example.com": false, "ip--203-0-113-7": false, "run--x": false, "": false, "xdf--x": false,
	} {
		if kept.IsName(name) != is {
			t.Errorf("%q is the name of a kept definition: %v", name, !is)
		}
		if _, ok := kept.Read(&metav1.ObjectMeta{Name: name}); ok != is {
			t.Errorf("%q is read as a kept definition: %v", name, ok)
		}
	}
	if lease.CheckHost(kept.Name(shop.Group())+".example.com") == nil {
		t.Error("a host may begin as a kept definition does")
	}
}

// Read returns the time of the last write, whether the object is being deleted, and what to pin a write to.
func TestReadMetadata(t *testing.T) {
	made := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: made.Add(time.Duration(minutes) * time.Minute)}
	}
	for name, tt := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		written  time.Time
	}{
		"nobody tells":             {nil, made},
		"later":                    {[]metav1.ManagedFieldsEntry{{Time: at(1)}, {Time: at(3)}, {Time: at(2)}}, at(3).Time},
		"before it was made":       {[]metav1.ManagedFieldsEntry{{Time: at(-1)}}, made},
		"a manager without a time": {[]metav1.ManagedFieldsEntry{{}}, made},
	} {
		meta := stored(t, definition(t, small))
		meta.CreationTimestamp, meta.ManagedFields = metav1.Time{Time: made}, tt.managers
		d, _ := kept.Read(meta)
		if d.Written != tt.written || d.Deleting || d.UID != "uid" || d.ResourceVersion != "7" {
			t.Errorf("%s: it is read as %+v", name, d)
		}
		meta.DeletionTimestamp = at(5)
		if d, _ := kept.Read(meta); !d.Deleting {
			t.Errorf("%s: it is being deleted", name)
		}
	}
}

// A written definition names its owner, its group, the hash and the run, and is pinned to the existing object.
func TestConfiguration(t *testing.T) {
	def := definition(t, small)
	d, err := kept.New(def, "RUN")
	if err != nil {
		t.Fatal(err)
	}
	ac := d.Configuration("akash-net", shop.Group(), nil)
	if *ac.Name != kept.Name(shop.Group()) || *ac.Namespace != "akash-net" || *ac.Spec.HolderIdentity != shop.Group().String() || ac.UID != nil || ac.ResourceVersion != nil {
		t.Errorf("what is new is written as %+v", ac)
	}
	if ac.Labels[kept.Label] != owner || len(ac.Labels) != 1 || ac.Annotations[kept.AnnotationRun] != "RUN" || ac.Annotations[lease.AnnotationDefinition] != def.Hash || len(ac.Annotations) != 3 {
		t.Errorf("the labels are %v, the annotations %v", ac.Labels, ac.Annotations)
	}
	there, _ := kept.Read(stored(t, def))
	if ac := d.Configuration("akash-net", shop.Group(), there); *ac.UID != "uid" || *ac.ResourceVersion != "7" {
		t.Errorf("what replaces another is written as %+v", ac)
	}
}

// Same compares the stored form, Says the meaning.
func TestSameAndSays(t *testing.T) {
	def := definition(t, small)
	read := func(change func(*metav1.ObjectMeta)) *kept.Definition {
		meta := stored(t, def)
		change(meta)
		d, _ := kept.Read(meta)
		return d
	}
	annotate := func(key, value string) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) { m.Annotations[key] = value }
	}
	text := stored(t, def).Annotations[kept.AnnotationText]
	as := func(*metav1.ObjectMeta) {}
	for name, tt := range map[string]struct {
		change     func(*metav1.ObjectMeta)
		same, says bool
	}{
		"as it was":             {as, true, true},
		"another version":       {func(m *metav1.ObjectMeta) { m.ResourceVersion, m.UID = "8", "other" }, true, true},
		"of another run":        {annotate(kept.AnnotationRun, "OTHER"), false, true},
		"without a run":         {annotate(kept.AnnotationRun, ""), false, true},
		"of another hash":       {annotate(lease.AnnotationDefinition, "x"), false, false},
		"in other words":        {annotate(kept.AnnotationText, strings.Replace(text, `"name":"shop"`, `"name":"other"`, 1)), false, true},
		"with blanks":           {annotate(kept.AnnotationText, strings.Replace(text, `"spec":{`, `"spec": {`, 1)), false, true},
		"compressed":            {annotate(kept.AnnotationText, packed(text)), false, true},
		"spoiled":               {annotate(kept.AnnotationText, text[1:]), false, false},
		"of another host":       {annotate(kept.AnnotationText, strings.Replace(text, "a.example.com", "b.example.com", 1)), false, false},
		"going":                 {func(m *metav1.ObjectMeta) { m.DeletionTimestamp = &metav1.Time{} }, true, false},
		"of the name of others": {func(m *metav1.ObjectMeta) { m.Name = "df--other" }, true, true}, // its text is what was to be kept
	} {
		t.Run(name, func(t *testing.T) {
			d := read(tt.change)
			if d.Same(read(as)) != tt.same || read(as).Same(d) != tt.same {
				t.Errorf("it is stored alike: %v", !tt.same)
			}
			if d.Says(def) != tt.says {
				t.Errorf("it says what was kept: %v", !tt.says)
			}
		})
	}
	if none := (*kept.Definition)(nil); none.Says(def) || none.Same(read(as)) || read(as).Same(none) || !none.Same(nil) {
		t.Error("nothing says something, or is something")
	}
}

// The error has the length of the definition and the limit, before or after compression.
func TestTooLongSays(t *testing.T) {
	def := definition(t, small)
	for i := range 8000 {
		def.Services[0].Expose[1].Hosts = append(def.Services[0].Expose[1].Hosts, lease.Host{Name: lease.Hash(fmt.Sprint(i)) + ".example.com"})
	}
	_, err := kept.New(def, "")
	if long, ok := errors.AsType[*kept.TooLongError](err); !ok || long.Limit != 224<<10 || long.Size <= long.Limit || err.Error() != fmt.Sprintf("the definition has %d bytes where %d can be kept", long.Size, long.Limit) {
		t.Errorf("after it is compressed: %v", err)
	}
	def = definition(t, small)
	def.Services[0].Expose[1].Hosts = []lease.Host{{Name: strings.Repeat("a", 5<<20)}}
	_, err = kept.New(def, "")
	if long, ok := errors.AsType[*kept.TooLongError](err); !ok || long.Limit != 4<<20 || long.Size <= 5<<20 {
		t.Errorf("before it is compressed: %v", err)
	}
	d, _ := kept.Read(&metav1.ObjectMeta{Name: kept.Name(shop.Group()), Annotations: map[string]string{kept.AnnotationText: packed(strings.Repeat(" ", 4<<20))}})
	if _, err := d.Decode(); err == nil || strings.Contains(err.Error(), "bytes where") {
		t.Errorf("one of 4 MiB is read, and is no definition: %v", err)
	}
	d, _ = kept.Read(&metav1.ObjectMeta{Name: kept.Name(shop.Group()), Annotations: map[string]string{kept.AnnotationText: packed(strings.Repeat(" ", 4<<20+1))}})
	if _, err := d.Decode(); err == nil || !strings.Contains(err.Error(), "has 4194305 bytes where 4194304") {
		t.Errorf("a byte more is not read: %v", err)
	}
}
