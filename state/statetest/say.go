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
func Say(v any) string { return say(reflect.ValueOf(v)) }

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
	var said []string
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return say(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case !field.IsExported() || v.Field(i).IsZero():
			case field.Anonymous:
				said = append(said, say(v.Field(i)))
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
	case reflect.Slice:
		for i := range v.Len() {
			said = append(said, say(v.Index(i)))
		}
		return "[" + strings.Join(said, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}
