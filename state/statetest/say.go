package statetest

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Say prints a value for a table: of a struct the fields that are set, as Name=value, with those of embedded structs; of a
// time its minute. nil is "none".
func Say(v any) string {
	if x := reflect.Indirect(reflect.ValueOf(v)); x.Kind() == reflect.Struct && x.NumField() > 0 && x.Type().Field(0).IsExported() {
		return sayFields(x)
	}
	return say(reflect.ValueOf(v))
}

func say(v reflect.Value) string {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "none"
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return fmt.Sprintf("minute %d", int(x.Sub(Start).Minutes()))
	case metav1.Time:
		return fmt.Sprintf("minute %d", int(x.Sub(Start).Minutes()))
	case fmt.Stringer, error, encoding.TextMarshaler:
		return fmt.Sprint(x)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return say(v.Elem())
	case reflect.Struct:
		return sayFields(v)
	case reflect.Slice:
		var said []string
		for i := range v.Len() {
			said = append(said, say(v.Index(i)))
		}
		return "[" + strings.Join(said, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

func sayFields(v reflect.Value) string {
	var said []string
	for i := range v.NumField() {
		switch field := v.Type().Field(i); {
		case !field.IsExported() || v.Field(i).IsZero():
		case field.Anonymous:
			said = append(said, sayFields(reflect.Indirect(v.Field(i))))
		case field.Type.Kind() == reflect.Bool:
			said = append(said, field.Name)
		default:
			text := say(v.Field(i))
			if nested := reflect.Indirect(v.Field(i)); nested.Kind() == reflect.Struct && strings.Contains(text, "=") {
				text = "{" + text + "}"
			}
			said = append(said, field.Name+"="+text)
		}
	}
	return strings.Join(said, " ")
}
