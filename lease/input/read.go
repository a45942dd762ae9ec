// Package input reads lease definitions in all accepted formats: LeaseDefinition documents, Akash's SDL, manifest JSON
// and Manifest objects.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/sdl"
)

// APIVersion is the API version of this project's documents; Kind is the kind of a lease definition.
const (
	APIVersion = "net.akash.network/v1alpha1"
	Kind       = "LeaseDefinition"
)

const akashVersion = "akash.network/v2beta2"

// Options are the options for reading documents.
type Options struct {
	// Lease is the lease of documents that name none: an SDL, and a manifest as it is sent to a provider. Documents
	// that name another lease are errors.
	Lease *lease.ID
	// DocumentSize limits a document, in bytes; 0 means document.DefaultSize.
	DocumentSize int64
	// Workloads makes the reader return what the services run.
	Workloads bool
	// Unleased reads documents that name no lease without one: it yields each of their groups, with nothing of a lease
	// but its gseq.
	Unleased bool
}

// All returns all definitions that Read yields.
func All(ctx context.Context, r io.Reader, file string, opt Options) (defs []*lease.Definition, problems lease.Problems, err error) {
	problems, err = Read(ctx, r, file, opt, func(def *lease.Definition) error {
		defs = append(defs, def)
		return nil
	})
	return defs, problems, err
}

// Read reads a stream of documents and yields the definitions in each, in the order of the input. It yields none of a document
// with errors, and continues with the next document unless one is too large. The error is that of the reader, of yield or of the
// context, and ends reading at once. Documents are parsed concurrently; memory does not grow with their number.
func Read(ctx context.Context, r io.Reader, file string, opt Options, yield func(*lease.Definition) error) (lease.Problems,
	error) {
	var problems lease.Problems
	err := parallel.Ordered(ctx, batches(document.Texts(r, file, opt.DocumentSize)), func(texts []document.Text) (read batch) {
		for _, text := range texts {
			for doc := range text.Documents() {
				defs, found := readDocument(doc, opt)
				read.defs, read.problems = append(read.defs, defs...), append(read.problems, found...)
			}
		}
		return read
	}, func(read batch) error {
		problems = keep(problems, read.problems, file)
		for _, def := range read.defs {
			if err := yield(def); err != nil {
				return err
			}
		}
		return nil
	})
	if failed, ok := errors.AsType[*readError](err); ok {
		if found, ok := failed.error.(lease.Problems); ok { //nolint:errorlint // made by document.Texts, never wrapped
			return append(problems, found...), nil
		}
		err = fmt.Errorf("%s: %w", file, failed.error)
	}
	return problems, err
}

// maxProblems is the number of problems of one input that are kept.
const maxProblems = 10_000

// keep appends problems, but not more than maxProblems and a problem that says so. That one is a warning as long as no
// error was left out.
func keep(problems, found lease.Problems, file string) lease.Problems {
	if len(problems) > maxProblems {
		if found.Failed() {
			problems[maxProblems].Warning = false
		}
		return problems
	}
	if room := maxProblems - len(problems); len(found) > room {
		failed := found[room:].Failed()
		problems = append(problems, found[:room]...)
		return append(problems, lease.Problem{
			At: lease.Place{File: file}, Warning: !failed, Message: fmt.Sprintf("the input has more than %d problems; further problems are not listed", maxProblems),
		})
	}
	return append(problems, found...)
}

// batch is the result of reading a batch of documents.
type batch struct {
	defs     []*lease.Definition
	problems lease.Problems
}

// batchSize is the size of a batch in bytes: large enough to outweigh the cost of passing it to another goroutine.
const batchSize = 32 << 10

// readError is an error of the input's reader.
type readError struct{ error }

// batches collects texts into batches of at least batchSize bytes.
func batches(texts iter.Seq2[document.Text, error]) iter.Seq2[[]document.Text, error] {
	return func(yield func([]document.Text, error) bool) {
		var batch []document.Text
		size := 0
		for text, err := range texts {
			if err != nil {
				if len(batch) == 0 || yield(batch, nil) {
					yield(nil, &readError{err})
				}
				return
			}
			batch = append(batch, text)
			if size += text.Size(); size >= batchSize {
				if !yield(batch, nil) {
					return
				}
				batch, size = nil, 0
			}
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// ManifestObject reads a Manifest object from the API server's JSON. The position of its problems is manifests/NAME.
// The definition is nil if there are errors. Workloads is the only option that it uses.
func ManifestObject(name string, data []byte, opt Options) (*lease.Definition, lease.Problems) {
	return readObject(document.Parse(data, "manifests/"+name), Options{Workloads: opt.Workloads})
}

// DefinitionObject reads a LeaseDefinition, as JSON, from an object of the cluster. at is the position of its problems.
// The definition is nil if there are errors.
func DefinitionObject(at string, data []byte) (*lease.Definition, lease.Problems) {
	doc := document.Parse(data, at)
	if root := doc.Root(); !root.IsMapping() || root.Peek("kind") != Kind {
		root.Errorf("it is not a %s", Kind)
		return nil, doc.Problems.Sorted()
	}
	return readObject(doc, Options{})
}

func readObject(doc *document.Document, opt Options) (*lease.Definition, lease.Problems) {
	defs, problems := readDocument(doc, opt)
	if len(defs) > 0 {
		return defs[len(defs)-1], problems
	}
	if !problems.Failed() {
		problems.Add(doc.Root().At(), "the object is empty")
	}
	return nil, problems
}

// readDocument reads the definitions of one document. Errors in one item of a List do not affect the other items.
func readDocument(doc *document.Document, opt Options) ([]*lease.Definition, lease.Problems) {
	root := doc.Root()
	if root.IsNull() {
		return nil, doc.Problems.Sorted()
	}
	if !isList(root) {
		return readOne(root, opt)
	}
	var defs []*lease.Definition
	var problems lease.Problems
	for item := range root.AnyMapping().Get("items").List() {
		if isList(item) {
			item.Errorf("a list inside a list is not supported")
		}
		read, found := readOne(item, opt)
		defs, problems = append(defs, read...), append(problems, found...)
	}
	return defs, append(problems, doc.Problems...)
}

// readOne reads one item. It moves the problems out of the document, so that the next item starts without any.
func readOne(c document.Cursor, opt Options) ([]*lease.Definition, lease.Problems) {
	doc := c.Document()
	var defs []*lease.Definition
	if !doc.Problems.Failed() {
		defs = readAny(c, opt)
	}
	problems := doc.Problems.Sorted()
	doc.Problems = nil
	if problems.Failed() {
		return nil, problems
	}
	for _, def := range defs {
		lease.NumberEndpoints(def)
		def.Hash = lease.Sum(def)
	}
	return defs, problems
}

func isList(c document.Cursor) bool {
	if !c.IsMapping() {
		return false
	}
	version, kind := typeOf(c)
	return kind == "List" && version == "v1" || kind == "ManifestList" && version == akashVersion
}

func typeOf(c document.Cursor) (version, kind string) {
	return c.Peek("apiVersion"), c.Peek("kind")
}

// unleased is the placeholder for the lease of a document that needs none.
var unleased = lease.ID{Owner: "akash1", DSeq: 1, GSeq: 1, OSeq: 1}

// readAny reads a document in any format, and all its groups if no lease is needed.
func readAny(c document.Cursor, opt Options) []*lease.Definition {
	version, kind := typeOf(c)
	switch {
	case opt.Lease != nil || !opt.Unleased:
	case c.IsList():
		return sdl.ReadAllGroups(c, unleased, opt.Workloads)
	case c.IsMapping() && version == "" && kind == "" && isSDL(c):
		return sdl.ReadAll(c, unleased, opt.Workloads)
	}
	if def := readLeased(c, opt); def != nil {
		return []*lease.Definition{def}
	}
	return nil
}

// readLeased reads the group of a lease.
func readLeased(c document.Cursor, opt Options) *lease.Definition {
	if c.IsList() {
		if id := requireLease(c, opt, "a manifest"); id != nil {
			return sdl.ReadGroups(c, *id, opt.Workloads)
		}
		return nil
	}
	if !c.IsMapping() {
		c.Errorf("expected a lease definition, found something else; " + formats)
		return nil
	}
	version, kind := typeOf(c)
	switch {
	case version == "" && kind == "":
		return readSDL(c, opt)
	case kind == Kind && version == APIVersion:
		return requireSameLease(c, readDefinition(c, opt.Workloads), opt)
	case kind == "Manifest" && version == akashVersion:
		return requireSameLease(c, sdl.ReadManifest(c, opt.Workloads), opt)
	case kind == Kind:
		c.Errorf("unsupported apiVersion %q of %s; use %s", version, kind, APIVersion)
	case kind == "Manifest":
		c.Errorf("unsupported apiVersion %q of %s; use %s", version, kind, akashVersion)
	case kind == "ProviderConfig":
		c.Errorf("a ProviderConfig is not a lease definition; pass it with --config")
	case kind == "":
		c.Errorf("the document has no kind; %s", formats)
	default:
		c.Errorf("unsupported kind %s; %s", kind, formats)
	}
	return nil
}

const formats = "supported are LeaseDefinition, SDL, manifest JSON and Manifest"

func readSDL(c document.Cursor, opt Options) *lease.Definition {
	if !isSDL(c) {
		c.Errorf("the document has no apiVersion and kind and is not an SDL; %s", formats)
		return nil
	}
	id := requireLease(c, opt, "an SDL")
	if id == nil {
		// Reading it anyway reports all its other problems too.
		sdl.Read(c, unleased, opt.Workloads)
		return nil
	}
	return sdl.Read(c, *id, opt.Workloads)
}

func isSDL(c document.Cursor) bool {
	return c.Has("version") || c.Has("services") || c.Has("deployment") || c.Has("profiles")
}

func requireLease(c document.Cursor, opt Options, what string) *lease.ID {
	if opt.Lease == nil {
		c.Errorf("%s names no lease; say which with --lease OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", what)
	}
	return opt.Lease
}

func requireSameLease(c document.Cursor, def *lease.Definition, opt Options) *lease.Definition {
	if def != nil && opt.Lease != nil && !c.Document().Problems.Failed() && def.Lease != *opt.Lease {
		c.Errorf("the document is for the lease %s, but --lease says %s; leave --lease out", def.Lease, opt.Lease)
	}
	return def
}
