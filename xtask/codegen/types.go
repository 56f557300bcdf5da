package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// KindFacts names the type of a kind.
type KindFacts struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Type    string `json:"type"`
}

// TypeFacts is a struct type, embedded structs flattened.
type TypeFacts struct {
	Module  string       `json:"module"`
	Name    string       `json:"name"`
	OpenAPI string       `json:"openapi"`
	Atomic  bool         `json:"atomic"`
	Unions  string       `json:"unions,omitempty"` // as JSON
	Fields  []FieldFacts `json:"fields"`
}

// FieldFacts is a field under its JSON name.
type FieldFacts struct {
	JSON     string          `json:"json"`
	Type     ValueFacts      `json:"type"`
	Omit     string          `json:"omit"`
	Proto    int             `json:"proto"`
	Embedded []int           `json:"embedded,omitempty"`
	ListType string          `json:"listType,omitempty"`
	ListKeys []string        `json:"listKeys,omitempty"`
	MapType  string          `json:"mapType,omitempty"`
	Patch    string          `json:"patch,omitempty"`
	PatchKey string          `json:"patchKey,omitempty"`
	Default  json.RawMessage `json:"default,omitempty"`
	Required bool            `json:"required,omitempty"`
	Values   []string        `json:"values,omitempty"`
}

// ValueFacts is the type of a value. Kind is the name of a variant of the Rust enum `Type`, in forms of `Form`.
type ValueFacts struct {
	Kind string      `json:"kind"`
	Name string      `json:"name,omitempty"` // of a named string, or of a struct: in types its OpenAPI name, in forms its Go name
	Of   *ValueFacts `json:"of,omitempty"`
}

// Types whose JSON is not what their Go structure says.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():    "Quantity",
	reflect.TypeFor[intstr.IntOrString]():   "IntOrString",
	reflect.TypeFor[metav1.Time]():          "Time",
	reflect.TypeFor[metav1.MicroTime]():     "MicroTime",
	reflect.TypeFor[metav1.Duration]():      "Duration",
	reflect.TypeFor[metav1.FieldsV1]():      "FieldsV1",
	reflect.TypeFor[runtime.RawExtension](): "RawExtension",
	reflect.TypeFor[apiextensionsv1.JSON](): "Json",
	reflect.TypeFor[[]byte]():               "Bytes",
	reflect.TypeFor[any]():                  "Json",
}

// Types that hold a JSON schema or something else.
var schemaOr = map[reflect.Type]string{
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "SchemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "SchemaOrStrings",
}

// Kinds that no group version of discovery has, but that travel all the same.
var unlisted = map[schema.GroupVersion][]reflect.Type{
	{Group: "admission.k8s.io", Version: "v1"}: {
		reflect.TypeFor[admissionv1.AdmissionReview](),
	},
	{Group: "apidiscovery.k8s.io", Version: "v2"}: {
		reflect.TypeFor[apidiscoveryv2.APIGroupDiscovery](),
		reflect.TypeFor[apidiscoveryv2.APIGroupDiscoveryList](),
	},
	{Group: "meta.k8s.io", Version: "v1"}: {
		reflect.TypeFor[metav1.CreateOptions](),
		reflect.TypeFor[metav1.DeleteOptions](),
		reflect.TypeFor[metav1.GetOptions](),
		reflect.TypeFor[metav1.ListOptions](),
		reflect.TypeFor[metav1.PartialObjectMetadata](),
		reflect.TypeFor[metav1.PartialObjectMetadataList](),
		reflect.TypeFor[metav1.PatchOptions](),
		reflect.TypeFor[metav1.Table](),
		reflect.TypeFor[metav1.TableOptions](),
		reflect.TypeFor[metav1.UpdateOptions](),
	},
	{Version: "v1"}: {
		reflect.TypeFor[metav1.APIGroup](),
		reflect.TypeFor[metav1.APIGroupList](),
		reflect.TypeFor[metav1.APIResourceList](),
		reflect.TypeFor[metav1.APIVersions](),
		reflect.TypeFor[metav1.Status](),
	},
}

// Types that are no kinds, and that nothing above holds.
var extra = []reflect.Type{
	reflect.TypeFor[metav1.ApplyOptions](),
	reflect.TypeFor[metav1.Condition](),
	reflect.TypeFor[metav1.List](),
	reflect.TypeFor[metav1.RootPaths](),
	reflect.TypeFor[metav1.TypeMeta](),
	reflect.TypeFor[metav1.WatchEvent](),
	reflect.TypeFor[version.Info](),
}

var protoMessage = reflect.TypeFor[interface {
	MarshalTo([]byte) (int, error)
	Unmarshal([]byte) error
}]()

type collector struct {
	schemas map[string]Schema
	enums   Enums
	kinds   []KindFacts
	seen    map[reflect.Type]bool
	types   []TypeFacts
}

// reflectTypes walks the types of every served kind and names the type of every resource.
func reflectTypes(groups []GroupFacts, schemas map[string]Schema, enums Enums) ([]KindFacts, []TypeFacts, error) {
	registry := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(registry); err != nil {
			return nil, nil, err
		}
	}
	c := &collector{schemas: schemas, enums: enums, seen: map[reflect.Type]bool{}}
	meta := reflect.TypeFor[metav1.ObjectMeta]().PkgPath()
	for _, group := range groups {
		for _, version := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: version.Version}
			for kind, t := range registry.KnownTypes(gv) {
				// Every group version registers the same options of package meta.
				if t.PkgPath() == meta {
					continue
				}
				if err := c.addKind(gv.WithKind(kind), t); err != nil {
					return nil, nil, err
				}
			}
			for i := range version.Resources {
				row := &version.Resources[i]
				gvk := schema.GroupVersionKind{
					Group:   cmp.Or(row.Group, group.Name),
					Version: cmp.Or(row.Version, version.Version),
					Kind:    row.Kind,
				}
				if kind, ok := registry.AllKnownTypes()[gvk]; ok {
					row.Type = openAPIName(kind)
				}
			}
		}
	}
	for gv, kinds := range unlisted {
		for _, t := range kinds {
			if err := c.addKind(gv.WithKind(t.Name()), t); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, t := range extra {
		if err := c.add(t); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(c.kinds, func(a, b KindFacts) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortFunc(c.types, func(a, b TypeFacts) int { return cmp.Compare(a.OpenAPI, b.OpenAPI) })
	return c.kinds, c.types, nil
}

func (c *collector) addKind(gvk schema.GroupVersionKind, t reflect.Type) error {
	c.kinds = append(c.kinds, KindFacts{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Type: openAPIName(t)})
	return c.add(t)
}

func (c *collector) add(t reflect.Type) error {
	if c.seen[t] {
		return nil
	}
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s is not a struct", t)
	}
	c.seen[t] = true
	name := openAPIName(t)
	facts := TypeFacts{Module: moduleOf(t), Name: t.Name(), OpenAPI: name}
	fields, err := c.fields(t, nil)
	if err != nil {
		return err
	}
	if schema, ok := c.schemas[name]; ok {
		facts.Atomic = schema.MapType == "atomic"
		unions, err := compact(schema.Unions)
		if err != nil {
			return err
		}
		facts.Unions = unions
		for i := range fields {
			describe(&fields[i], schema)
			fields[i].Values = c.enums[[2]string{t.PkgPath(), t.Name()}][fields[i].JSON]
		}
	}
	facts.Fields = fields
	c.types = append(c.types, facts)
	return nil
}

// fields lists the fields of a struct in the order encoding/json writes them. The path holds the protobuf numbers of
// the embedded messages around them, since protobuf does not inline.
func (c *collector) fields(t reflect.Type, path []int) ([]FieldFacts, error) {
	all := []FieldFacts{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		number, err := protoNumber(field)
		if err != nil {
			return nil, err
		}
		if name == "" && field.Anonymous {
			inner := path
			if number != 0 {
				inner = append(slices.Clone(path), number)
			}
			embedded, err := c.fields(field.Type, inner)
			if err != nil {
				return nil, err
			}
			// What is embedded without a number does not travel in protobuf.
			if number == 0 {
				for i := range embedded {
					embedded[i].Proto, embedded[i].Embedded = 0, nil
				}
			}
			all = append(all, embedded...)
			continue
		}
		value, err := c.value(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, field.Name, err)
		}
		facts := FieldFacts{
			JSON: cmp.Or(name, field.Name), Type: value, Proto: number, Omit: "Never",
			Patch: field.Tag.Get("patchStrategy"), PatchKey: field.Tag.Get("patchMergeKey"),
		}
		if number != 0 {
			facts.Embedded = path
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitzero":
				facts.Omit = "Zero"
			case "omitempty":
				if facts.Omit == "Never" {
					facts.Omit = "Empty"
				}
			case "", "inline":
			default:
				return nil, fmt.Errorf("%s.%s: json option %q", t, field.Name, option)
			}
		}
		all = append(all, facts)
	}
	return all, nil
}

// value says what a Go type is on the wire.
func (c *collector) value(t reflect.Type) (ValueFacts, error) {
	if kind, ok := special[t]; ok {
		return ValueFacts{Kind: kind}, nil
	}
	if kind, ok := schemaOr[t]; ok {
		props := reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()
		return ValueFacts{Kind: kind, Name: openAPIName(props)}, c.add(props)
	}
	if t.Kind() == reflect.Slice && t.Name() != "" && reflect.PointerTo(t).Implements(protoMessage) {
		if t.Elem() != reflect.TypeFor[string]() {
			return ValueFacts{}, fmt.Errorf("%s is a message of %s", t, t.Elem())
		}
		return ValueFacts{Kind: "StringsMessage", Name: t.String()}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return ValueFacts{Kind: "Bool"}, nil
	case reflect.Int32:
		return ValueFacts{Kind: "Int32"}, nil
	case reflect.Int64:
		return ValueFacts{Kind: "Int64"}, nil
	case reflect.Uint32:
		return ValueFacts{Kind: "Uint32"}, nil
	case reflect.Float64:
		return ValueFacts{Kind: "Float64"}, nil
	case reflect.String:
		return ValueFacts{Kind: "String", Name: t.String()}, nil
	case reflect.Struct:
		return ValueFacts{Kind: "Struct", Name: openAPIName(t)}, c.add(t)
	case reflect.Pointer:
		return c.wrap("Optional", t.Elem())
	case reflect.Slice:
		return c.wrap("List", t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return ValueFacts{}, fmt.Errorf("map key %s", t.Key())
		}
		return c.wrap("Map", t.Elem())
	}
	return ValueFacts{}, fmt.Errorf("%s of kind %s", t, t.Kind())
}

func (c *collector) wrap(kind string, elem reflect.Type) (ValueFacts, error) {
	of, err := c.value(elem)
	return ValueFacts{Kind: kind, Of: &of}, err
}

// describe adds what the schema of the struct says about the field.
func describe(field *FieldFacts, schema Schema) {
	property, ok := schema.Properties[field.JSON]
	if !ok {
		return
	}
	field.ListType = property.ListType
	field.ListKeys = property.ListKeys
	field.MapType = property.MapType
	field.Default = property.Default
	field.Required = slices.Contains(schema.Required, field.JSON)
}

// protoNumber reads the number from a tag such as `bytes,1,opt,name=metadata`; 0 where there is none.
func protoNumber(field reflect.StructField) (int, error) {
	tag := field.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		return 0, nil
	}
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return 0, fmt.Errorf("%s: protobuf tag %q", field.Name, tag)
	}
	return strconv.Atoi(parts[1])
}

func openAPIName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return qualifiedName(t.PkgPath(), t.Name())
}

// compact is JSON without white space.
func compact(raw json.RawMessage) (string, error) {
	var out bytes.Buffer
	if len(raw) == 0 {
		return "", nil
	}
	err := json.Compact(&out, raw)
	return out.String(), err
}

// moduleOf is the name of the Rust module: the last two elements of the package's path.
func moduleOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return parts[len(parts)-2] + "_" + parts[len(parts)-1]
}
