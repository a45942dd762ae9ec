package managed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Whose an entry of the managed fields is, and what an object's entries say together: testdata/managers.txt; `go test
// ./lease/managed -rewrite` writes it. An entry is "MANAGER OPERATION [SUBRESOURCE] [SECOND] [of VERSION]"; GROUP stands for
// akash-net/OWNER/7/1.
//
//	entry      whose it is
//	object     entries, ";" between them: those that count, those that name this program and Akash, who has applied for the group
func TestManagersInWords(t *testing.T) {
	group := lease.Group{Owner: owner, DSeq: 7, GSeq: 1}
	words := strings.NewReplacer("GROUP", group.FieldManager(), "OWNER", owner)
	said := strings.NewReplacer(owner, "OWNER")
	read := func(t *testing.T, text string) metav1.ManagedFieldsEntry {
		fields := strings.Fields(words.Replace(text))
		e := written(fields[0], metav1.ManagedFieldsOperationType(fields[1]), "", "v1", 0)
		for i := 2; i < len(fields); i++ {
			second := 0
			switch _, err := fmt.Sscan(fields[i], &second); {
			case err == nil:
				e = written(e.Manager, e.Operation, e.Subresource, e.APIVersion, second)
			case fields[i] == "of":
				i++
				e.APIVersion = fields[i]
			default:
				e.Subresource = fields[i]
			}
		}
		return e
	}
	datadriven.RunTest(t, "testdata/managers.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			var answers []string
			if d.Cmd == "entry" {
				e := Entry{ManagedFieldsEntry: read(t, line)}
				if e.Ours() {
					answers = append(answers, "ours")
				}
				if g, ok := e.Group(); ok {
					answers = append(answers, "applied for "+g.String())
				}
				if g, ok := GroupOf(e.Manager); ok {
					answers = append(answers, "a manager of "+g.String())
				}
			} else {
				answers = objectAnswers(t, line, group, read)
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, said.Replace(strings.Join(answers, ", ")))
		}
		return out.String()
	})
}

// objectAnswers is what the entries of an object say; as structs and as maps they say the same.
func objectAnswers(t *testing.T, line string, group lease.Group, read func(*testing.T, string) metav1.ManagedFieldsEntry) (answers []string) {
	var entries []metav1.ManagedFieldsEntry
	for one := range strings.SplitSeq(line, ";") {
		entries = append(entries, read(t, one))
	}
	for form, o := range both(t, entries...) {
		var counted []string
		for e := range Of(o) {
			counted = append(counted, e.Manager)
		}
		got := []string{"counted: " + strings.Join(counted, " ")}
		if _, ok := Applied(o, group.FieldManager()); ok {
			got = append(got, "applied for the group")
		}
		if at := LastWritten(o); !at.IsZero() {
			got = append(got, fmt.Sprintf("written at %d", at.Unix()))
		}
		if at := LastWritten(o, Status); !at.IsZero() {
			got = append(got, fmt.Sprintf("status at %d", at.Unix()))
		}
		if last := LastWriter(o); last != "" {
			got = append(got, "last by "+last)
		}
		if Edited(o) {
			got = append(got, "edited")
		}
		if at := LastWritten(o, "", Status); !at.IsZero() && !at.Equal(LastWritten(o)) {
			got = append(got, fmt.Sprintf("both at %d", at.Unix()))
		}
		if of, others := OfVersion(o, schema.GroupVersion{Version: "v1"}); others > 0 {
			got = append(got, fmt.Sprintf("%d of v1 and %d of other versions", len(of), others))
		}
		if meta := (&metav1.ObjectMeta{ManagedFields: entries}); AppliedBy(meta, group) {
			got = append(got, "its manager has applied")
		}
		if answers != nil && strings.Join(answers, ", ") != strings.Join(got, ", ") {
			t.Errorf("%s: as %s it says %q, else %q", line, form, got, answers)
		}
		answers = got
	}
	return answers
}
