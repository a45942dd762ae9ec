package document

import (
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// Metadata is the metadata of a document of this program.
type Metadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Rules are the rules of texts that a tag may name.
type Rules map[string]func(string) error

// Decode reads a value into what into points to, and reports all that is wrong with it. What is missing or null leaves what is there. A type
// with a method Decode(Cursor) reads itself; one that is read from a text, as encoding.TextUnmarshaler says, may be a text or number. The
// tags of a struct say what its keys are and what they may have:
//
//	json:"name"          the key; a struct without a key is part of the one that it is in
//	is:"a port"          what a value is, for messages
//	oneof:"a|b"          the texts that there are; an empty one leaves what is there
//	rule:"name"          a rule for each text, or number as a text
//	min:"1" max:"32"     the range of a number
//	unique:"shard"       no two items of a list have the same; on a field of an item, none of its siblings has it
//	read:"required"      the key must be there
//	read:"filled"        a text that is there is not empty
//	read:"word"          a text that may be written without quotes, whatever it looks like
func Decode(c Cursor, into any, rules Rules) {
	decoder{rules}.value(c, reflect.ValueOf(into).Elem(), &field{})
}

// DecodeAt is Decode for the field of a struct that a path of keys names, such as ip.pool.
func DecodeAt(c Cursor, into any, path string, rules Rules) {
	v, f := reflect.ValueOf(into).Elem(), field{}
	for key := range strings.SplitSeq(path, ".") {
		p := planOf(v.Type())
		f = p.fields[slices.Index(p.keys, key)]
		v = v.FieldByIndex(f.index)
	}
	decoder{rules}.value(c, v, &f)
}

// Keys returns the keys of a struct, in their order.
func Keys(of any) []string { return planOf(reflect.TypeOf(of)).keys }

type decoder struct{ rules Rules }

// plan is how a struct is read.
type plan struct {
	fields []field
	keys   []string
}

// field is how a field of a struct is read, or an item of a list.
type field struct {
	key   string
	index []int

	is, rule, unique       string
	oneOf                  []string
	min, max               uint64
	required, filled, word bool
	item                   bool
}

var plans sync.Map

func planOf(t reflect.Type) *plan {
	if known, ok := plans.Load(t); ok {
		return known.(*plan)
	}
	p := &plan{}
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		tag := f.Tag.Get
		read := strings.Split(tag("read"), ",")
		one := field{
			key: key, index: f.Index, is: tag("is"), rule: tag("rule"), unique: tag("unique"), max: math.MaxUint64,
			required: slices.Contains(read, "required"), filled: slices.Contains(read, "filled"), word: slices.Contains(read, "word"),
		}
		if words := tag("oneof"); words != "" {
			one.oneOf = strings.Split(words, "|")
		}
		if n, err := strconv.ParseUint(tag("min"), 10, 64); err == nil {
			one.min = n
		}
		if n, err := strconv.ParseUint(tag("max"), 10, 64); err == nil {
			one.max = n
		}
		p.fields, p.keys = append(p.fields, one), append(p.keys, key)
	}
	known, _ := plans.LoadOrStore(t, p)
	return known.(*plan)
}

// value reads a value, and reports whether there is a good one.
func (d decoder) value(c Cursor, v reflect.Value, f *field) bool {
	if c.IsNull() && !f.item {
		return false
	}
	if own, ok := v.Addr().Interface().(interface{ Decode(c Cursor) }); ok {
		own.Decode(c)
		return true
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, ok := d.text(c, f, "")
		if ok && (s != "" || f.word) {
			if err := text.UnmarshalText([]byte(s)); err != nil {
				c.Report(err)
				return false
			}
		}
		return ok
	}
	switch v.Kind() {
	case reflect.String:
		s, ok := d.text(c, f, v.String())
		if ok {
			v.SetString(s)
		}
		return ok
	case reflect.Bool:
		v.SetBool(c.Bool())
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return number(c, v, f)
	case reflect.Float64:
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
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(c, v.Elem(), f)
	case reflect.Struct:
		return d.mapping(c, v)
	case reflect.Slice:
		return d.list(c, v, f)
	case reflect.Map:
		return d.entries(c, v)
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
		c.Errorf("the %s is empty", f.is)
		return s, false
	case s == "" && !f.item && (there == "" || f.oneOf != nil):
		return there, true
	case f.oneOf != nil && !slices.Contains(f.oneOf, s):
		last := len(f.oneOf) - 1
		c.Errorf("unknown %s %q; %s and %s are known%s", f.is, s, strings.Join(f.oneOf[:last], ", "), f.oneOf[last], suggest.For(s, f.oneOf))
		return s, false
	case f.rule != "":
		if err := d.rules[f.rule](s); err != nil {
			c.Report(err)
			return s, false
		}
	}
	return s, ok
}

var durations = reflect.TypeFor[time.Duration]()

func number(c Cursor, v reflect.Value, f *field) bool {
	if v.Type() == durations {
		v.SetInt(int64(c.Duration()))
		return true
	}
	n, ok := c.Uint(f.min, f.max, f.is)
	switch {
	case !ok:
	case v.CanInt():
		v.SetInt(int64(n))
	default:
		v.SetUint(n)
	}
	return ok
}

func (d decoder) mapping(c Cursor, v reflect.Value) bool {
	p := planOf(v.Type())
	m := c.Mapping(p.keys)
	for i := range p.fields {
		f := &p.fields[i]
		at := m.Get(f.key)
		if f.required {
			m.Require(f.key)
		}
		if !at.IsNull() {
			d.value(at, v.FieldByIndex(f.index), f)
		}
	}
	return m.Present()
}

// list reads a list and leaves out what is wrong in it.
func (d decoder) list(c Cursor, v reflect.Value, f *field) bool {
	if !c.IsList() {
		for range c.List() { // reports it
		}
		return false
	}
	of := v.Type().Elem()
	items, seen := reflect.MakeSlice(v.Type(), 0, c.Len()), map[string]bool{}
	each := *f
	each.item = true
	for at := range c.List() {
		item := reflect.New(of).Elem()
		if d.value(at, item, &each) && once(at, item, f.unique, seen) {
			items = reflect.Append(items, item)
		}
	}
	v.Set(items)
	return true
}

// once reports an item that is in the list already, or that has what another one has.
func once(c Cursor, item reflect.Value, what string, seen map[string]bool) bool {
	if what != "" {
		return first(c, what, item.String(), seen)
	}
	if item.Kind() != reflect.Struct {
		return true
	}
	good := true
	for _, f := range planOf(item.Type()).fields {
		if f.unique != "" {
			good = first(c.Get(f.key), f.unique, item.FieldByIndex(f.index).String(), seen) && good
		}
	}
	return good
}

func first(c Cursor, what, text string, seen map[string]bool) bool {
	if seen[text] && text != "" {
		c.Errorf("the %s %q is named twice", what, text)
		return false
	}
	seen[text] = true
	return true
}

func (d decoder) entries(c Cursor, v reflect.Value) bool {
	for key, at := range c.AnyMapping().Entries() {
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(at, value, &field{})
		v.SetMapIndex(reflect.ValueOf(key.Raw()), value)
	}
	return true
}
