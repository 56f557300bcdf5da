package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// FormFacts is an unversioned struct: what a server holds in memory, and what some of its error messages print.
// Embedded structs are flattened, except for metadata.
type FormFacts struct {
	Name   string           `json:"name"`
	Fields []FormFieldFacts `json:"fields"`
}

// FormFieldFacts is a field of an unversioned struct.
type FormFieldFacts struct {
	Name string     `json:"name"` // the Go name; empty for embedded metadata
	JSON string     `json:"json"` // the JSON name in the versioned type
	Form ValueFacts `json:"form"` // Kind is the name of a variant of the Rust enum `Form`
}

// The package of the unversioned types, below the root of the release.
const formsPackage = "pkg/apis/core"

// What error messages print, by name in both packages.
var formRoots = []reflect.Type{
	reflect.TypeFor[corev1.PodTemplateSpec](),
	reflect.TypeFor[corev1.PodSpec](),
	reflect.TypeFor[corev1.PersistentVolumeClaimSpec](),
}

// Unversioned structs with fields that the versioned types have in another struct.
var movedFrom = map[string]reflect.Type{
	"PodSecurityContext": reflect.TypeFor[corev1.PodSpec](),
}

var formOfBasic = map[string]string{
	"bool":   "Flag",
	"int32":  "Number",
	"int64":  "Number",
	"string": "Text",
}

// The forms of types from other packages.
var formOfForeign = map[[2]string]string{
	{"k8s.io/apimachinery/pkg/api/resource", "Quantity"}:      "Quantity",
	{"k8s.io/apimachinery/pkg/apis/meta/v1", "LabelSelector"}: "Selector",
	{"k8s.io/apimachinery/pkg/apis/meta/v1", "ObjectMeta"}:    "Metadata",
	{"k8s.io/apimachinery/pkg/util/intstr", "IntOrString"}:    "IntOrString",
}

// declared is a type with the imports of its file, by name.
type declared struct {
	expr    ast.Expr
	imports map[string]string
}

type formReader struct {
	types map[string]declared
	seen  map[string]bool
	forms []FormFacts
}

// pending is a struct that a field holds, with its versioned type.
type pending struct {
	name      string
	versioned reflect.Type
}

// readForms reads the unversioned structs from their source, each before the structs it holds.
func readForms(dir string) ([]FormFacts, error) {
	types, err := declaredTypes(filepath.Join(dir, filepath.FromSlash(formsPackage)))
	if err != nil {
		return nil, err
	}
	reader := &formReader{types: types, seen: map[string]bool{}}
	for _, root := range formRoots {
		if err := reader.add(pending{root.Name(), root}); err != nil {
			return nil, err
		}
	}
	return reader.forms, nil
}

func declaredTypes(dir string) (map[string]declared, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	types := map[string]declared{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imports := map[string]string{}
		for _, spec := range file.Imports {
			imported := literal(spec.Path)
			as := path.Base(imported)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			imports[as] = imported
		}
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					types[spec.Name.Name] = declared{spec.Type, imports}
				}
			}
		}
	}
	return types, nil
}

func (r *formReader) add(next pending) error {
	if r.seen[next.name] {
		return nil
	}
	r.seen[next.name] = true
	index := len(r.forms)
	r.forms = append(r.forms, FormFacts{Name: next.name})
	fields, held, err := r.fields(next)
	if err != nil {
		return fmt.Errorf("%s: %w", next.name, err)
	}
	r.forms[index].Fields = fields
	for _, inner := range held {
		if err := r.add(inner); err != nil {
			return err
		}
	}
	return nil
}

// fields lists the fields of a struct, and the structs that they hold.
func (r *formReader) fields(of pending) (fields []FormFieldFacts, held []pending, err error) {
	declaration := r.types[of.name]
	body, ok := declaration.expr.(*ast.StructType)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not a struct of %s", of.name, formsPackage)
	}
	for _, field := range body.Fields.List {
		if field.Tag != nil && reflect.StructTag(literal(field.Tag)).Get("json") != "" {
			return nil, nil, fmt.Errorf("%s has a JSON name of its own", of.name)
		}
		form, name, err := r.form(field.Type, declaration.imports)
		if err != nil {
			return nil, nil, err
		}
		if len(field.Names) == 0 && form.Kind == "Struct" {
			versioned := of.versioned
			if counterpart, ok := versioned.FieldByName(name); ok {
				versioned = counterpart.Type
			}
			inner, within, err := r.fields(pending{name, versioned})
			if err != nil {
				return nil, nil, err
			}
			fields, held = append(fields, inner...), append(held, within...)
			continue
		}
		names := []string{}
		for _, ident := range field.Names {
			names = append(names, ident.Name)
		}
		if len(names) == 0 {
			if form.Kind != "Metadata" {
				return nil, nil, fmt.Errorf("%s is embedded", form.Kind)
			}
			names = []string{"ObjectMeta"}
		}
		for _, goName := range names {
			counterpart, ok := of.versioned.FieldByName(goName)
			if moved, known := movedFrom[of.name]; !ok && known {
				counterpart, ok = moved.FieldByName(goName)
			}
			json, _, _ := strings.Cut(counterpart.Tag.Get("json"), ",")
			if !ok || json == "" {
				return nil, nil, fmt.Errorf("%s has no JSON name in %s", goName, of.versioned)
			}
			facts := FormFieldFacts{Name: goName, JSON: json, Form: form}
			if len(field.Names) == 0 {
				facts.Name = ""
			}
			fields = append(fields, facts)
			if name != "" {
				held = append(held, pending{name, innermost(counterpart.Type)})
			}
		}
	}
	return fields, held, nil
}

// form says what a type is, and which struct of the package is at its bottom, if any.
func (r *formReader) form(expr ast.Expr, imports map[string]string) (form ValueFacts, name string, err error) {
	wrap := func(kind string, elem ast.Expr) (ValueFacts, string, error) {
		of, name, err := r.form(elem, imports)
		return ValueFacts{Kind: kind, Of: &of}, name, err
	}
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return wrap("Optional", expr.X)
	case *ast.ArrayType:
		return wrap("List", expr.Elt)
	case *ast.MapType:
		return wrap("Map", expr.Value)
	case *ast.SelectorExpr:
		if imported, ok := expr.X.(*ast.Ident); ok {
			foreign := [2]string{imports[imported.Name], expr.Sel.Name}
			if kind, ok := formOfForeign[foreign]; ok {
				return ValueFacts{Kind: kind}, "", nil
			}
			return ValueFacts{}, "", fmt.Errorf("no form for %s of %s", foreign[1], foreign[0])
		}
	case *ast.Ident:
		if declaration, ok := r.types[expr.Name]; ok {
			if _, ok := declaration.expr.(*ast.StructType); ok {
				return ValueFacts{Kind: "Struct", Name: expr.Name}, expr.Name, nil
			}
			return r.form(declaration.expr, declaration.imports)
		}
		if kind, ok := formOfBasic[expr.Name]; ok {
			return ValueFacts{Kind: kind}, "", nil
		}
		return ValueFacts{}, "", fmt.Errorf("no form for %s", expr.Name)
	}
	return ValueFacts{}, "", fmt.Errorf("no form for %T", expr)
}

// innermost is the type that pointers, lists and maps hold.
func innermost(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}
