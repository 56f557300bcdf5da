package main

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// GoType is a type as Go names it, for programs that print values as Go does. A struct has fields; any other named type
// has an underlying type.
type GoType struct {
	Name       string    `json:"name"`
	Underlying string    `json:"underlying,omitempty"`
	Fields     []GoField `json:"fields,omitempty"`
}

// GoField is a field of a struct in declaration order. The JSON name of an embedded struct is empty.
type GoField struct {
	Name string `json:"name"`
	JSON string `json:"json"`
	Type string `json:"type"`
}

// goTypes returns the types of a pod template, by name. Types whose JSON is not what their structure says have no fields.
func goTypes() []GoType {
	found := map[string]GoType{}
	visitGoType(reflect.TypeFor[corev1.PodTemplateSpec](), found)
	types := make([]GoType, 0, len(found))
	for _, t := range found {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b GoType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

func visitGoType(t reflect.Type, found map[string]GoType) {
	if t.PkgPath() != "" {
		if _, seen := found[t.String()]; seen {
			return
		}
		if name, ok := special[t]; ok {
			found[t.String()] = GoType{Name: t.String(), Underlying: name}
			return
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		visitGoType(t.Elem(), found)
	case reflect.Map:
		visitGoType(t.Key(), found)
		visitGoType(t.Elem(), found)
	}
	if t.PkgPath() == "" {
		return
	}
	if t.Kind() != reflect.Struct {
		found[t.String()] = GoType{Name: t.String(), Underlying: underlying(t)}
		return
	}
	entry := GoType{Name: t.String()}
	found[t.String()] = entry
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		entry.Fields = append(entry.Fields, GoField{Name: field.Name, JSON: name, Type: field.Type.String()})
		visitGoType(field.Type, found)
	}
	found[t.String()] = entry
}

// underlying returns the type that a named type is declared as.
func underlying(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map:
		return "map[" + t.Key().String() + "]" + t.Elem().String()
	case reflect.Slice:
		return "[]" + t.Elem().String()
	default:
		return t.Kind().String()
	}
}
