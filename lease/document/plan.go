package document

import (
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

type (
	selfReader interface{ Decode(c Cursor) }
	textReader = encoding.TextUnmarshaler
)

// how is how a value is read and written.
type how int

const (
	byItself how = iota
	asText
	asString
	asBool
	asDuration
	asInt
	asUint
	asFloat
	asPointer
	asMapping
	asList
	asEntries
	asMap
)

// field is how a field of a struct is read and written, an item of a list, or what a pointer points to.
type field struct {
	key   string
	index []int
	how   how
	// of is how the items of a list, the values of a map, or what a pointer points to are.
	of *field

	is, rule, unique                 string
	oneOf                            []string
	min, max                         uint64
	fallback                         reflect.Value
	required, filled, word, sequence bool
	omit, item                       bool

	// The fields of a struct: those with a key, that of the key of an entry, and the only one of a struct that is no mapping.
	fields, uniques []*field
	keys            []string
	entry, text     *field
	places          []placed
}

// placed is a field for a place, or for a struct of places by the names of keys.
type placed struct {
	key   string
	index []int
	names []string
}

// Keys returns the keys of a struct, in their order.
func Keys(of any) []string { return planOf(reflect.TypeOf(of)).keys }

var plans sync.Map

func planOf(t reflect.Type) *field {
	f, ok := plans.Load(t)
	if !ok {
		f, _ = plans.LoadOrStore(t, newField(t, "", false))
	}
	return f.(*field)
}

func newField(t reflect.Type, tag reflect.StructTag, item bool) *field {
	read := strings.Split(tag.Get("read"), ",")
	f := &field{
		is: tag.Get("is"), rule: tag.Get("rule"), unique: tag.Get("unique"), item: item, max: anyNumber,
		required: slices.Contains(read, "required"), filled: slices.Contains(read, "filled"), word: slices.Contains(read, "word"),
		sequence: slices.Contains(read, "sequence"),
	}
	if words := tag.Get("oneof"); words != "" {
		f.oneOf = strings.Split(words, "|")
	}
	if n, err := strconv.ParseUint(tag.Get("min"), 10, 64); err == nil {
		f.min = n
	}
	if t.Kind() >= reflect.Uint8 && t.Kind() <= reflect.Uint32 {
		f.max = 1<<t.Bits() - 1
	}
	if n, err := strconv.ParseUint(tag.Get("max"), 10, 64); err == nil {
		f.max = n
	}
	_, own := reflect.New(t).Interface().(selfReader)
	_, text := reflect.New(t).Interface().(textReader)
	switch kind := t.Kind(); {
	case own:
		f.how = byItself
	case text:
		f.how = asText
	case t == durations:
		f.how = asDuration
	case kind == reflect.String:
		f.how = asString
	case kind == reflect.Bool:
		f.how = asBool
	case kind == reflect.Float64:
		f.how = asFloat
	case kind >= reflect.Int && kind <= reflect.Int64:
		f.how, f.max = asInt, min(f.max, math.MaxInt64)
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		f.how = asUint
	case kind == reflect.Pointer:
		f.how, f.of = asPointer, newField(t.Elem(), tag, item)
	case kind == reflect.Map:
		f.how, f.of = asMap, newField(t.Elem(), "", false)
	case kind == reflect.Slice:
		f.how, f.of = asList, newField(t.Elem(), tag, true)
		if f.of.entry != nil {
			f.how, f.of.item = asEntries, false
		}
	case kind == reflect.Struct:
		f.how = asMapping
		f.addFields(t, nil)
	}
	if text := tag.Get("default"); text != "" {
		f.fallback = reflect.New(t).Elem()
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			f.fallback.SetUint(n)
		} else {
			f.fallback.SetString(text)
		}
	}
	return f
}

// addFields adds the fields of a struct that is at an index of the one that is read.
func (f *field) addFields(t reflect.Type, at []int) {
	name := "json"
	for of := range t.Fields() {
		if _, ok := of.Tag.Lookup("doc"); ok {
			name = "doc"
		}
	}
	for of := range t.Fields() {
		index := append(slices.Clone(at), of.Index...)
		key, options, _ := strings.Cut(of.Tag.Get(name), ",")
		if at := of.Tag.Get("at"); at != "" {
			f.places = append(f.places, newPlaced(of.Type, at, index))
		}
		inner := of.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case options == "inline" || of.Anonymous && key == "":
			f.addFields(inner, index)
			continue
		case key == "" || key == "-":
			continue
		}
		one := newField(of.Type, of.Tag, false)
		one.key, one.index, one.omit = key, index, strings.HasPrefix(options, "omit")
		switch key {
		case "@key":
			f.entry = one
		case "@text":
			f.text, one.item = one, true
		default:
			f.fields, f.keys = append(f.fields, one), append(f.keys, key)
			if one.unique != "" && one.how == asString {
				f.uniques = append(f.uniques, one)
			}
		}
	}
}

func newPlaced(t reflect.Type, key string, index []int) placed {
	p := placed{key: key, index: index}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == places {
		return p
	}
	for of := range t.Fields() { // ReadTimeout is that of readTimeout, TLS that of tls
		name := strings.ToLower(of.Name)
		if len(name) > 3 {
			name = name[:1] + of.Name[1:]
		}
		p.names = append(p.names, name)
	}
	return p
}
