package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

var errNoAnswer = errors.New("the connection was closed")

// TestWritesWithoutAnswerEnd lets a command work whose writes have no answer from one of them on: all, or those of one verb, whether they
// take effect or not, and whether what is read then has an answer or not. It ends, and says that the API server did not answer.
func TestWritesWithoutAnswerEnd(t *testing.T) {
	stories := map[string]string{
		"a lease is applied":              "command c A/1 apply a.example.com b.example.com",
		"more of it is applied":           "given before A/1 apply a.example.com\ncommand c A/1 apply a.example.com b.example.com",
		"less of it is applied":           "given before A/1 apply a.example.com b.example.com\ncommand c A/1 apply b.example.com prune",
		"a lease is healed":               "given before A/1 apply a.example.com\ndelete ingress A/1 a.example.com\ncommand c A/1 heal prune",
		"hosts and addresses are held":    "command c A/1 a.example.com *.example.com address expires",
		"a host is held that another has": "given before A/2 a.example.com\ncommand c A/1 a.example.com b.example.com",
		"a lease is released":             "given before A/1 apply a.example.com\ncommand c A/1 release",
		"a host is released":              "given before A/1 apply a.example.com b.example.com\ncommand c A/1 release a.example.com",
		"a host is transferred":           "given before A/1 apply a.example.com\ngiven other A/2 b.example.com\ncommand c A/2 transfer a.example.com",
		"it is applied with that":         "given before A/1 apply a.example.com\ncommand c A/2 transfer a.example.com with a.example.com",
		"a route moves":                   "given before A/1 apply a.example.com\ncommand c A/1 move a.example.com",
		"an old route is in the way":      "webhook\ngiven before A/1 apply a.example.com\ncommand c A/2 transfer a.example.com with a.example.com",
		"and the new one is refused":      "webhook\ngiven before A/1 apply a.example.com\ncommand c A/2 transfer a.example.com with a.example.com\nuntil c delete object\nstep c\nforbid ingress A/2 no",
		"a crashed command is succeeded":  "command before A/1 apply a.example.com\nuntil before apply\nstep before\ncrash before\ncommand c A/1 apply a.example.com b.example.com",
		"a lease is refused late":         "forbid ingress A/1 no\ncommand c A/1 apply a.example.com b.example.com",
	}
	for name, text := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range append([]engine.Verb{""}, writes(text)...) {
				for _, takesEffect := range []bool{false, true} {
					for _, reads := range []bool{true, false} {
						for from := 0; unanswered(t, text, verb, from, takesEffect, reads); from++ {
						}
					}
				}
			}
		})
	}
}

// begun is the story of a text, with the command that is about to work.
func begun(text string) (*story, *command) {
	s := newStory()
	for line := range strings.Lines(text) {
		s.obey(strings.Fields(line))
	}
	return s, s.commands["c"]
}

// writes are the verbs of the writes of a command.
func writes(text string) (verbs []engine.Verb) {
	_, c := begun(text)
	known := map[engine.Verb]bool{}
	h := newHistory(nil)
	h.ledger = c.ledger
	for !c.ended {
		if _, r, _, ok := c.next(); ok && isWrite(r) && !known[r.Verb] {
			known[r.Verb], verbs = true, append(verbs, r.Verb)
		}
		h.turn(c, c.answer)
	}
	return verbs
}

// unanswered lets a command work whose writes of a verb, or all, have no answer from one of them on. It reports whether there were any.
func unanswered(t *testing.T, text string, verb engine.Verb, from int, takesEffect, reads bool) bool {
	t.Helper()
	const most = 400
	_, c := begun(text)
	h := newHistory(nil)
	if h.ledger = c.ledger; verb == "" && from == 2 && !takesEffect {
		h.ledger.pure = &purity{}
	}
	how := fmt.Sprintf("from write %d (%s) on, which takes effect: %t, and readings have answers: %t", from, verb, takesEffect, reads)
	written, silent, said := 0, false, ""
	answer := func(r engine.Request) engine.Answer {
		switch isOne := isWrite(r) && (verb == "" || r.Verb == verb); {
		case isOne && written >= from:
			if takesEffect {
				c.answer(r)
			}
			if silent = true; r.Verb == engine.CreateObject || r.Verb == engine.Touch {
				return engine.Answer{Err: errNoAnswer} // it is not tried again
			}
			if reads {
				said = "the API server did not answer"
			}
			return engine.Answer{Stale: true, Unclear: true, Err: errNoAnswer}
		case isOne:
			written++
		case silent && !reads && !isWrite(r) && r.Verb != engine.Undo:
			return engine.Answer{Err: errNoAnswer}
		}
		return c.answer(r)
	}
	for sent := 0; !c.ended; sent++ {
		if sent > most {
			t.Errorf("%s: it goes on for ever:\n%s", how, strings.Join(h.trace[len(h.trace)-10:], "\n"))
			return false
		}
		h.turn(c, answer)
	}
	if h.ledger.pure != nil && len(h.ledger.pure.wrong) > 0 {
		t.Errorf("%s: %s", how, h.ledger.pure.wrong[0])
	}
	for i, o := range c.outcomes {
		err := errors.Join(append(o.Kept, o.Err)...)
		for _, f := range o.Facts {
			err = errors.Join(err, f.Err)
		}
		if silent && !takesEffect && (!errors.Is(err, errNoAnswer) || !strings.Contains(err.Error(), said)) {
			t.Errorf("%s: lease %d ends without a word about that: %v\n%s", how, i, err, strings.Join(h.trace[max(0, len(h.trace)-10):], "\n"))
		}
	}
	return silent
}

// A command that finds an object changed before each of its tries names who has changed it last, and says what shows that.
func TestChangedBeforeEachTry(t *testing.T) {
	for text, want := range map[string]string{
		"given before A/1 apply a.example.com\ncommand c A/1 release":                     "could not be deleted",
		"given before A/1 apply a.example.com\ncommand c A/1 apply a.example.com timeout": "could not be written",
	} {
		_, c := begun(text)
		h := newHistory(nil)
		h.ledger = c.ledger
		for !c.ended {
			h.turn(c, func(r engine.Request) engine.Answer {
				if k := keyOf(r); (r.Verb == engine.DeleteObject || r.Verb == engine.PutObject) && k.Kind == kinds.Ingress {
					h.ledger.edit(k, func(live *unstructured.Unstructured) {
						live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "argocd", Time: &metav1.Time{Time: h.ledger.now}, FieldsType: "FieldsV1"}})
					})
				}
				return c.answer(r)
			})
		}
		for _, want := range []string{want, `field manager "argocd" changes it all the time`, "get ingress a.example.com -o yaml --show-managed-fields"} {
			if err := c.outcomes[0].Err; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", text, err, want)
			}
		}
	}
}
