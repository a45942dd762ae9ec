package reconcile_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// A model of leases and of who says what they are to be, in histories that are drawn: Akash's provider deploys, updates and closes leases,
// several at once and in its order (Manifest, what it has declared, namespace); files come, change and go, one by one and all at once, by
// somebody's will or because a mount goes; people apply leases and delete what they have; reconcilers with different sources look, decide
// by the function that is tested, do what it says a while later, and are killed. What an action does is a line here. The promises are
// judged at each action, and when all is still.

const (
	modelLeases  = 11
	modelSources = 3 // Akash's Manifests, and the files of two sources
	window       = 10
)

var sourceNames = [modelSources]string{reconcile.OfManifests, "prod", "test"}

// thing is a lease of the model. Versions of what it is to be are numbers, 0 for none.
type thing struct {
	// manifest, declared and namespace are what Akash's provider keeps of it in the cluster.
	manifest            int
	declared, namespace bool
	// file is what the files of a source are meant to say, seen what can be read of them.
	file, seen [modelSources]int
	// owner and kept are what the ledger keeps; emptied is true between the two steps of a release. objects is what serves.
	owner   string
	kept    int
	emptied bool
	objects int
}

// leftOut is a rule that is left out.
type leftOut string

// model is a history under way.
type model struct {
	*rand.Rand
	without leftOut
	now     int
	leases  [modelLeases]thing
	// torn are the sources whose files cannot be read as a whole, lost those whose files vanish though nobody wants that.
	torn, lost [modelSources]bool
	// ended are the leases that were ended, recorded those of which the cluster keeps that.
	ended, recorded map[int]released
	reconcilers     []*worker
	version         int
	trace, verdicts []string
}

// worker is a reconciler with its sources. released is what it remembers; view is what it decides by until it looks again.
type worker struct {
	name     string
	reads    [modelSources]bool
	limits   reconcile.Limits
	released map[int]released
	view     *reconcile.View
	looked   bool
	// saw and torn are the leases, and which files could not be read, when it looked.
	saw  [modelLeases]thing
	torn [modelSources]bool
}

type released struct {
	source string
	at     int
}

func (m *model) tell(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf("%d: ", m.now)+fmt.Sprintf(format, args...))
}

func (m *model) judge(ok bool, format string, args ...any) {
	if !ok {
		m.verdicts = append(m.verdicts, fmt.Sprintf("%d: ", m.now)+fmt.Sprintf(format, args...))
	}
}

// versions are the definitions of leases that were asked for.
var versions = map[[2]int]*lease.Definition{}

// versioned is a version of a lease's definition.
func versioned(n, version int) *lease.Definition {
	at := [2]int{n, version}
	if versions[at] == nil {
		versions[at] = defined(n, version == 0)
		versions[at].Hash = fmt.Sprint(version)
	}
	return versions[at]
}

func groupOf(n int) lease.Group { return versioned(n, 1).Lease.Group() }

// isAkashs reports whether Akash's provider has anything of a lease.
func (l *thing) isAkashs() bool { return l.manifest > 0 || l.declared }

// newModel has the reconcilers that a provider may have: one that follows the Manifests, one of each source of files, one that heals.
func newModel(seed int64, without leftOut) *model {
	m := &model{Rand: rand.New(rand.NewSource(seed)), without: without, ended: map[int]released{}, recorded: map[int]released{}}
	for i, name := range []string{"follows", "prod", "test", "heals"} {
		w := &worker{name: name, limits: reconcile.Limits{MaxDeletes: -1, Per: window * time.Second}, released: map[int]released{}}
		switch i {
		case 0:
			w.reads[0], w.limits.Manifests, w.limits.Heal = true, true, m.Intn(2) == 0
		case 3:
			w.reads[0], w.limits.Heal = true, true
		default:
			w.reads[i] = true
		}
		m.reconcilers = append(m.reconcilers, w)
	}
	return m
}

// said is what a reconciler has read of its sources.
func (m *model) said(w *worker) (said []reconcile.Said) {
	for s := range modelSources {
		if !w.reads[s] {
			continue
		}
		one := reconcile.Said{Source: sourceNames[s], Definitions: map[lease.Group]*lease.Definition{}, Complete: !m.torn[s] || m.without == "half a word takes nothing away", Left: map[string]bool{}}
		for n := range m.leases {
			version := m.leases[n].seen[s]
			if s == 0 {
				version = m.leases[n].manifest
			}
			if version > 0 {
				one.Definitions[groupOf(n)] = versioned(n, version)
			}
		}
		if s == 0 && m.without == "heal only what is as it was applied" {
			for n, l := range m.leases {
				if l.owner == reconcile.OfManifests && l.kept > 0 {
					one.Definitions[groupOf(n)] = versioned(n, l.kept)
				}
			}
		}
		said = append(said, one)
	}
	return said
}

// look lets a reconciler read everything.
func (m *model) look(w *worker) {
	seen := reconcile.Seen{Said: m.said(w), Kept: map[lease.Group]reconcile.Kept{}, Ended: map[lease.Group]bool{}, Released: map[lease.Group]string{}}
	limits := w.limits
	for n, l := range m.leases {
		if l.owner != "" || l.kept > 0 || l.emptied {
			seen.Kept[groupOf(n)] = reconcile.Kept{Source: l.owner, Definition: versioned(n, l.kept)}
		}
		gone := l.manifest == 0 && (!l.declared || !l.namespace)
		switch m.without {
		case "Akash ends a lease":
			gone = l.manifest == 0
		case "a lease of Akash is over also where nobody follows":
			gone = gone && w.limits.Manifests
		}
		seen.Ended[groupOf(n)] = gone
	}
	for n, r := range m.recorded {
		if _, known := w.released[n]; !known && w.reads[slices.Index(sourceNames[:], r.source)] && m.without != "what is released is recorded" {
			w.released[n] = released{r.source, m.now}
		}
	}
	for n, r := range w.released {
		if m.now-r.at <= window && m.without != "the limit is over a time" {
			seen.Released[groupOf(n)] = r.source
		}
	}
	switch m.without {
	case "files are limited":
		limits.MaxDeletes = modelLeases
	case "a lease is its source's":
		limits.TakeOver = true
	}
	w.view, w.looked, w.saw, w.torn = reconcile.NewView(seen, limits), true, m.leases, m.torn
}

// work lets a reconciler do what is due for a lease by what it has read.
func (m *model) work(w *worker, n int) {
	d := w.view.Decide(groupOf(n))
	if m.without == "the limit is for files alone" && d.Source == reconcile.OfManifests && d.Owned && d.Action == reconcile.Apply && len(w.view.Over()) > 2 {
		return
	}
	l := &m.leases[n]
	switch {
	case d.Err != nil || d.Action == reconcile.Nothing:
		return
	case m.without == "whose a lease is, is read after the lock":
	case d.Owned && l.owner != d.Source, d.Among != nil && l.owner != "" && !slices.Contains(d.Among, l.owner):
		return
	}
	switch {
	case d.Action == reconcile.Apply && d.Definition.Empty():
		if d.Source == reconcile.OfManifests && l.manifest > 0 && m.without != "the Manifest is read after the lock" {
			return
		}
		if m.judgeEnd(w, n, d.Source); l.emptied {
			return
		}
		w.released[n] = released{d.Source, m.now}
		m.ended[n] = w.released[n]
		if maps.DeleteFunc(m.recorded, func(n int, r released) bool { return r.source == d.Source && m.now-w.released[n].at > window }); d.Source != reconcile.OfManifests {
			m.recorded[n] = w.released[n]
		}
		l.kept, l.emptied, l.objects = 0, true, 0
	case d.Action == reconcile.Apply:
		version := 0
		_, _ = fmt.Sscan(d.Definition.Hash, &version)
		if d.Source == reconcile.OfManifests && l.manifest != version && m.without != "the Manifest is read after the lock" {
			return
		}
		m.judge(d.Source != reconcile.OfManifests || l.manifest > 0, "%s applies lease %d, which Akash has closed: a ProviderHost without a Manifest", w.name, n)
		m.judge(l.owner == "" || l.owner == d.Source || !m.isWanted(n, l.owner), "%s applies lease %d for %s: it is of %s", w.name, n, d.Source, l.owner)
		l.owner, l.kept, l.emptied, l.objects = d.Source, version, false, version
	case d.Action == reconcile.Release:
		if !l.emptied && l.kept > 0 { // it was applied again meanwhile
			return
		}
		l.owner, l.kept, l.emptied, l.objects = "", 0, false, 0
	case d.Action == reconcile.Heal:
		if (l.owner == reconcile.OfManifests && !l.namespace && m.without != "heal makes no namespace") || l.kept == 0 || d.Definition.Hash != fmt.Sprint(l.kept) {
			return
		}
		m.judge(l.owner != reconcile.OfManifests || l.namespace, "%s heals lease %d, whose namespace is gone", w.name, n)
		if l.owner == reconcile.OfManifests && l.objects == 0 && m.without != "the Manifest is read after the lock" && m.without != "heal only what is as it was applied" && l.manifest != l.kept {
			return
		}
		m.judge(l.objects > 0 || l.owner != reconcile.OfManifests || l.manifest == l.kept, "%s brings back of lease %d what Akash does not declare", w.name, n)
		l.objects = l.kept
	}
	m.tell("%s: %s of lease %d for %q", w.name, d.Action, n, d.Source)
}

// isWanted reports whether a source still wants a lease, whatever can be read of it.
func (m *model) isWanted(n int, source string) bool {
	l := m.leases[n]
	switch at := slices.Index(sourceNames[:], source); {
	case source == "":
		return false
	case at == 0:
		return l.isAkashs()
	default:
		return l.file[at] > 0
	}
}

// judgeEnd judges the end of a lease: nobody may want it any more, but where files vanish that look whole, of which a tenth may go.
func (m *model) judgeEnd(w *worker, n int, source string) {
	l := m.leases[n]
	at := slices.Index(sourceNames[:], source)
	switch {
	case l.owner != source:
		m.judge(false, "%s ends lease %d for %s: it is of %q", w.name, n, source, l.owner)
	case at == 0:
		m.judge(l.emptied || !l.isAkashs() || l.manifest == 0 && !w.saw[n].isAkashs(), "%s ends lease %d, which Akash has", w.name, n)
	case l.emptied, w.saw[n].file[at] == 0:
	case w.torn[at]:
		m.judge(false, "%s ends lease %d, though the files cannot be read as a whole", w.name, n)
	default:
		lost, had := 0, 0 // with what it ends for good reasons
		for i, l := range m.leases {
			r, is := m.ended[i]
			gone := i == n || is && r.source == source && m.now-r.at <= window && l.kept == 0
			if gone {
				lost++
			}
			if gone || l.owner == source {
				had++
			}
		}
		m.judge(lost <= (had+9)/10, "%s ends lease %d as the %dth of %d that vanish", w.name, n, lost, had)
	}
}

// happen lets something happen that no reconciler does.
func (m *model) happen() {
	n, s := m.Intn(modelLeases), 1+m.Intn(2)
	l := &m.leases[n]
	m.version++
	switch m.Intn(15) {
	case 0, 1: // the provider deploys, or updates
		if !l.isAkashs() && !l.namespace || l.manifest > 0 {
			l.manifest, l.declared, l.namespace = m.version, true, true
			if l.owner == reconcile.OfManifests && l.kept > 0 {
				l.objects = m.version // its operator
			}
			m.tell("Akash deploys lease %d as %d", n, m.version)
		}
	case 2: // it closes one
		l.manifest = 0
		m.tell("Akash closes lease %d", n)
	case 3: // it closes many at once
		for i := range m.leases {
			if m.leases[i].manifest > 0 && m.Intn(2) == 0 {
				m.leases[i].manifest, m.leases[i].declared, m.leases[i].namespace = 0, false, false
			}
		}
		m.tell("Akash closes many")
	case 4, 5: // it goes on with what it closes
		for i := range m.leases {
			if l := &m.leases[i]; l.manifest == 0 && l.declared {
				l.declared, l.objects = false, 0
			} else if l.manifest == 0 {
				l.namespace = false
			}
		}
	case 6, 7, 8: // somebody writes a file
		l.file[s] = m.version
		m.seeFile(n, s)
		m.tell("%s says lease %d is %d", sourceNames[s], n, m.version)
	case 9: // or deletes it
		l.file[s] = 0
		m.seeFile(n, s)
		m.tell("%s drops lease %d", sourceNames[s], n)
	case 10: // a file cannot be read, and with it others may be missing; or all can again
		m.torn[s] = m.torn[s] != true
		for i := range m.leases {
			m.seeFile(i, s)
		}
		m.tell("the files of %s are torn: %t", sourceNames[s], m.torn[s])
	case 11: // files vanish, one after the other, or are back
		m.lost[s] = !m.lost[s]
		if !m.lost[s] {
			for i := range m.leases {
				m.seeFile(i, s)
			}
		}
		m.tell("the files of %s vanish: %t", sourceNames[s], m.lost[s])
	case 12: // somebody deletes what serves
		l.objects = 0
	case 13: // a reconciler is killed, and succeeded
		w := m.reconcilers[m.Intn(len(m.reconcilers))]
		w.looked, w.released = false, map[int]released{}
	case 14:
		m.now += m.Intn(window)
	}
	for s := range m.lost {
		if i := m.Intn(modelLeases); m.lost[s] {
			m.leases[i].seen[s] = 0
		}
	}
}

// seeFile lets what a file says be read, if it can be.
func (m *model) seeFile(n, s int) {
	if m.leases[n].seen[s] = m.leases[n].file[s]; m.torn[s] && m.Intn(2) == 0 {
		m.leases[n].seen[s] = 0
	}
}

// live lives through a history, and judges it when all is still.
func (m *model) live(steps int) {
	for range steps {
		if m.happen(); m.Intn(3) == 0 {
			continue
		}
		w := m.reconcilers[m.Intn(len(m.reconcilers))]
		if !w.looked || m.Intn(2) == 0 {
			m.look(w)
		}
		for range 1 + m.Intn(4) {
			m.work(w, m.Intn(modelLeases))
		}
		if len(m.verdicts) > 0 {
			return
		}
	}
	for i := range m.leases { // nothing goes wrong any more
		if l := &m.leases[i]; l.manifest == 0 {
			l.declared, l.namespace = false, false
		}
	}
	follows := m.Intn(4) > 0
	if m.torn, m.lost = [modelSources]bool{}, [modelSources]bool{}; !follows {
		m.reconcilers = m.reconcilers[1:]
	}
	for i := range m.leases {
		m.seeFile(i, 1)
		m.seeFile(i, 2)
	}
	for was, rounds := [modelLeases]thing{}, 0; was != m.leases && rounds < 4*modelLeases; rounds++ {
		was = m.leases
		m.now += window + 1
		for _, w := range m.reconcilers {
			m.look(w)
			for n := range modelLeases {
				m.work(w, n)
			}
		}
	}
	tooMany := func(n int) bool { // a person has to say so
		return slices.ContainsFunc(m.reconcilers, func(w *worker) bool {
			_, is := errors.AsType[*reconcile.ManyDeletesError](w.view.Decide(groupOf(n)).Err)
			return is
		})
	}
	for n, l := range m.leases {
		if tooMany(n) {
			m.judge(l.owner != reconcile.OfManifests, "in the end lease %d of Akash is one of too many", n)
			continue
		}
		m.judge(l.owner == "" || m.isWanted(n, l.owner), "in the end lease %d is kept for %s, which does not want it", n, l.owner)
		m.judge(l.manifest == 0 || l.owner != "" || !follows, "in the end nobody has lease %d, of which there is a Manifest", n)
		for s, name := range sourceNames {
			wants := l.file[s]
			if s == 0 {
				wants = l.manifest
			}
			m.judge(l.owner != name || l.kept == wants && l.objects == wants || s == 0 && !follows, "in the end lease %d of %s is %d and serves %d, and is to be %d", n, name, l.kept, l.objects, wants)
		}
		m.judge(l.owner != "" || l.objects == 0 && l.kept == 0, "in the end lease %d serves, and nobody wants it", n)
	}
}

// Nothing is ended that its source wants, nothing is made for what is over, nothing is done for a lease of another source; and when all is
// still each lease is what the source that counts says. LONG draws more of them.
func TestModel(t *testing.T) {
	histories := int64(400)
	if os.Getenv("LONG") != "" {
		histories = 40_000
	}
	actions := map[string]int{}
	for seed := range histories {
		m := newModel(seed, "")
		m.live(60)
		for _, line := range m.trace {
			if _, what, ok := strings.Cut(line, ": "); ok && strings.Contains(what, " of lease ") {
				actions[strings.Fields(what)[1]]++
			}
		}
		if len(m.verdicts) > 0 {
			t.Fatalf("history %d:\n%s\n\n%s", seed, strings.Join(m.verdicts, "\n"), strings.Join(m.trace, "\n"))
		}
	}
	for _, action := range []reconcile.Action{reconcile.Apply, reconcile.Heal, reconcile.Release} {
		if actions[string(action)] < int(histories) {
			t.Errorf("there are %d histories, and %s is done %d times", histories, action, actions[string(action)])
		}
	}
	t.Logf("%d histories, %v", histories, slices.Sorted(maps.Keys(actions)))
}

// Each rule by which it is decided is needed: without it a history breaks a promise.
func TestModelNoticesEachRule(t *testing.T) {
	for _, rule := range []leftOut{
		"half a word takes nothing away", "heal only what is as it was applied", "Akash ends a lease", "a lease of Akash is over also where nobody follows",
		"the limit is over a time", "what is released is recorded", "files are limited", "a lease is its source's", "the limit is for files alone", "the Manifest is read after the lock",
		"heal makes no namespace", "whose a lease is, is read after the lock",
	} {
		noticed := false
		for seed := int64(0); !noticed && seed < 4000; seed++ {
			m := newModel(seed, rule)
			m.live(60)
			noticed = len(m.verdicts) > 0
		}
		if !noticed {
			t.Errorf("nothing is noticed without the rule: %s", rule)
		}
	}
}
