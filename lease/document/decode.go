package document

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// Decode reads a value into what into points to, and reports all that is wrong with it. What is missing or null leaves what is there. A type
// with a method Decode(Cursor) reads itself; one that is read from a text, as encoding.TextUnmarshaler says, may be a text or number. The
// tags of a struct say what its keys are and what they may have; Encode writes by the same tags:
//
//	doc:"name,omitempty" the key; without any such tag in the struct, those of json count. ",inline" makes the keys of a struct the keys of
//	                     the one that it is in
//	doc:"@key"           the key of an entry of a mapping, for a list that is written as one
//	doc:"@text"          the value itself, where it is no mapping
//	at:"name"            the place of a key's value, "." that of the value itself, "@key" that of its key; of a struct of places, all by name
//	is:"a port"          what a value is, for messages
//	oneof:"a|b"          the texts that there are; an empty one leaves what is there
//	rule:"name"          a rule for each text, or number as a text
//	default:"TCP"        what is there if the key is missing
//	min:"1" max:"32"     the range of a number
//	unique:"shard"       no two items of a list have the same; on a field of an item, none of its siblings has it
//	read:"required"      the key must be there
//	read:"filled"        a text that is there is not empty
//	read:"word"          a text that may be written without quotes, whatever it looks like
//	read:"sequence"      a number that may be written as a text
func Decode(c Cursor, into any, rules Rules) {
	v := reflect.ValueOf(into).Elem()
	decoder{rules: rules}.value(c, v, planOf(v.Type()))
}

// DecodeSpelled is Decode that accepts keys as SpelledMapping does.
func DecodeSpelled(c Cursor, into any) {
	v := reflect.ValueOf(into).Elem()
	decoder{spelled: true}.value(c, v, planOf(v.Type()))
}

// DecodeAt is Decode for the field of a struct that a path of keys names, such as ip.pool.
func DecodeAt(c Cursor, into any, path string, rules Rules) {
	v := reflect.ValueOf(into).Elem()
	f := planOf(v.Type())
	for key := range strings.SplitSeq(path, ".") {
		f = f.fields[slices.Index(f.keys, key)]
		v = v.FieldByIndex(f.index)
	}
	decoder{rules: rules}.value(c, v, f)
}

// Rules are the rules of texts that a tag may name.
type Rules map[string]func(string) error

type decoder struct {
	rules   Rules
	spelled bool
}

// value reads a value, and reports whether there is a good one.
func (d decoder) value(c Cursor, v reflect.Value, f *field) bool {
	if c.IsNull() && !f.item {
		return false
	}
	switch f.how {
	case byItself:
		v.Addr().Interface().(selfReader).Decode(c)
	case asText:
		s, ok := d.text(c, f, "")
		if !ok || s == "" && !f.word {
			return ok
		}
		if err := v.Addr().Interface().(textReader).UnmarshalText([]byte(s)); err != nil {
			c.Report(err)
			return false
		}
	case asString:
		s, ok := d.text(c, f, v.String())
		if ok {
			v.SetString(s)
		}
		return ok
	case asBool:
		v.SetBool(c.Bool())
	case asDuration:
		v.SetInt(int64(c.Duration()))
	case asInt, asUint:
		return number(c, v, f)
	case asFloat:
		n, ok := c.Float()
		if ok && f.rule != "" {
			if err := d.rules[f.rule](strconv.FormatFloat(n, 'g', -1, 64)); err != nil {
				c.Report(err)
				return false
			}
		}
		if ok {
			v.SetFloat(n)
		}
		return ok
	case asPointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if good := d.value(c, v.Elem(), f.of); !good && !c.IsMapping() {
			v.SetZero()
			return false
		}
	case asMapping:
		return d.mapping(c, c, v, f)
	case asList:
		return d.list(c, v, f)
	case asEntries:
		d.entries(c, v, f)
	case asMap:
		for key, at := range c.AnyMapping().Entries() {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			value := reflect.New(v.Type().Elem()).Elem()
			d.value(at, value, f.of)
			v.SetMapIndex(reflect.ValueOf(key.Key()), value)
		}
	}
	return true
}

// text reads a text, of which an empty one may leave the one that is there.
func (d decoder) text(c Cursor, f *field, there string) (string, bool) {
	s, ok := c.Word(), c.IsScalar()
	if !f.word {
		s, ok = c.ValidText()
	}
	switch {
	case !ok:
	case s == "" && f.filled:
		c.Errorf("the %s is empty%s", f.is, known(f))
		return s, false
	case s == "" && !f.item && (there == "" && !f.required || f.oneOf != nil):
		return there, true
	case f.oneOf != nil && !slices.Contains(f.oneOf, s):
		c.Errorf("unknown %s %q%s%s", f.is, s, known(f), suggest.For(s, f.oneOf))
		return s, false
	case f.rule != "":
		if err := d.rules[f.rule](s); err != nil {
			c.Report(err)
			return s, false
		}
	}
	return s, ok
}

func known(f *field) string {
	if f.oneOf == nil {
		return ""
	}
	last := len(f.oneOf) - 1
	return "; " + strings.Join(f.oneOf[:last], ", ") + " and " + f.oneOf[last] + " are known"
}

func number(c Cursor, v reflect.Value, f *field) bool {
	var n uint64
	ok := true
	if f.sequence {
		n = c.Sequence(f.max, f.is)
	} else {
		n, ok = c.Uint(f.min, f.max, f.is)
	}
	switch {
	case !ok:
	case f.how == asInt:
		v.SetInt(int64(n))
	default:
		v.SetUint(n)
	}
	return ok
}

// mapping reads a struct. The key is the mapping's own.
func (d decoder) mapping(c, key Cursor, v reflect.Value, f *field) bool {
	if f.text != nil {
		good := d.value(c, v.FieldByIndex(f.text.index), f.text)
		setPlaces(f, v, Mapping{Cursor: c}, key)
		return good
	}
	m := c.mapping(f.keys, mappingRules{strict: c.doc.Strict, spelled: d.spelled})
	if !m.Present() {
		if f.item && c.IsNull() {
			c.Errorf("expected a mapping, found nothing")
		}
		return false
	}
	for _, of := range f.fields {
		at := m.Get(of.key)
		switch {
		case at.IsNull() && of.required:
			m.Errorf("%q is missing", of.key)
		case at.IsNull() && !of.fallback.IsValid():
		default:
			into := fieldOf(v, of.index)
			if of.fallback.IsValid() && into.IsZero() {
				into.Set(of.fallback)
			}
			d.value(at, into, of)
		}
	}
	setPlaces(f, v, m, key)
	return true
}

// fieldOf returns a field, and makes the structs on the way to it.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// setPlaces sets the places of what is there.
func setPlaces(f *field, v reflect.Value, m Mapping, key Cursor) {
	for i := range f.places {
		p := &f.places[i]
		into, err := v.FieldByIndexErr(p.index[:len(p.index)-1])
		if err != nil || into.Kind() == reflect.Pointer && into.IsNil() {
			continue // it is in a struct that is not there
		}
		into = reflect.Indirect(into).Field(p.index[len(p.index)-1])
		c := m.Cursor
		switch p.key {
		case ".":
		case "@key":
			c = key
		default:
			c = m.Get(p.key)
		}
		switch {
		case c.IsNull() && p.key != ".":
		case p.names == nil:
			*into.Addr().Interface().(*lease.Place) = c.At()
		case c.IsMapping():
			if into.Kind() == reflect.Pointer {
				into.Set(reflect.New(into.Type().Elem()))
				into = into.Elem()
			}
			inner := c.AnyMapping()
			for i, name := range p.names {
				if at := inner.Get(name); !at.IsNull() {
					*into.Field(i).Addr().Interface().(*lease.Place) = at.At()
				}
			}
		}
	}
}

// list reads a list and leaves out what is wrong in it.
func (d decoder) list(c Cursor, v reflect.Value, f *field) bool {
	if !c.IsList() {
		for range c.List() { // reports it
		}
		return false
	}
	if v.SetZero(); c.Len() == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // not nil, which would be none
		return true
	}
	v.Grow(c.Len())
	v.SetLen(c.Len())
	n, seen := 0, map[string]bool(nil)
	if f.unique != "" || f.of.uniques != nil {
		seen = map[string]bool{}
	}
	for at := range c.List() {
		item := v.Index(n)
		if item.SetZero(); d.value(at, item, f.of) && (seen == nil || once(at, item, f, seen)) {
			n++
		}
	}
	v.SetLen(n)
	return true
}

// once reports an item that is in the list already, or that has what another one has.
func once(c Cursor, item reflect.Value, f *field, seen map[string]bool) bool {
	first := func(c Cursor, what, text string) bool {
		if seen[text] && text != "" {
			c.Errorf("the %s %q is named twice", what, text)
			return false
		}
		seen[text] = true
		return true
	}
	if f.unique != "" {
		return first(c, f.unique, item.String())
	}
	good := true
	for _, of := range f.of.uniques {
		good = first(c.Get(of.key), of.unique, item.FieldByIndex(of.index).String()) && good
	}
	return good
}

// entries reads a list that is written as a mapping.
func (d decoder) entries(c Cursor, v reflect.Value, f *field) {
	for key, at := range c.AnyMapping().Entries() {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		item := v.Index(v.Len() - 1)
		item.FieldByIndex(f.of.entry.index).SetString(key.Key())
		if !d.mapping(at, key, item, f.of) { // who checks the item says where it is
			setPlaces(f.of, item, Mapping{Cursor: at}, key)
		}
	}
}

var (
	durations = reflect.TypeFor[time.Duration]()
	places    = reflect.TypeFor[lease.Place]()
)

const anyNumber = math.MaxUint64
