package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Descriptions holds what a server publishes about a type, under the empty name, and about its fields, under their
// JSON names: by OpenAPI name. Servers add the listed values to the text, the OpenAPI documents of the release do not.
type Descriptions map[string]map[string]string

// readDescriptions parses the generated OpenAPI definitions. It keeps the types that the names list.
func readDescriptions(dir string, names map[string]bool) (Descriptions, error) {
	path := filepath.Join(dir, "pkg", "generated", "openapi", "zz_generated.openapi.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	packages := map[string]string{}
	for _, imported := range file.Imports {
		if imported.Name != nil {
			packages[imported.Name.Name] = literal(imported.Path)
		}
	}
	owners := map[string]string{} // by the name of the function that builds the schema
	descriptions := Descriptions{}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if function.Name.Name == "GetOpenAPIDefinitions" {
			ast.Inspect(function.Body, func(node ast.Node) bool {
				if entry, ok := node.(*ast.KeyValueExpr); ok {
					if name, builder, ok := definition(entry); ok {
						owners[builder] = qualifiedName(packages[name[0]], name[1])
					}
				}
				return true
			})
			continue
		}
		owner := owners[function.Name.Name]
		if !names[owner] {
			continue
		}
		texts := map[string]string{}
		ast.Inspect(function.Body, func(node ast.Node) bool {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if isNamed(pair.Key, "Description") {
				if _, seen := texts[""]; !seen {
					texts[""] = literal(pair.Value.(*ast.BasicLit))
				}
			}
			if !isNamed(pair.Key, "Properties") {
				return true
			}
			for _, element := range pair.Value.(*ast.CompositeLit).Elts {
				property := element.(*ast.KeyValueExpr)
				if text := described(property.Value); text != "" {
					texts[literal(property.Key.(*ast.BasicLit))] = text
				}
			}
			return false
		})
		if texts[""] == "" {
			delete(texts, "")
		}
		if len(texts) > 0 {
			descriptions[owner] = texts
		}
	}
	return descriptions, nil
}

// described finds the first `Description: "..."` below a node.
func described(node ast.Node) (text string) {
	ast.Inspect(node, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if ok && isNamed(pair.Key, "Description") && text == "" {
			text = literal(pair.Value.(*ast.BasicLit))
		}
		return text == ""
	})
	return text
}

// qualifiedName is the OpenAPI name of a type.
func qualifiedName(pkg, name string) string {
	host, path, _ := strings.Cut(pkg, "/")
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + name
}

// describedNames lists the types whose descriptions are kept: all of the tables, and those that the tables know by a
// variant of their own.
func describedNames(types []TypeFacts) map[string]bool {
	names := map[string]bool{}
	for _, ty := range types {
		names[ty.OpenAPI] = true
	}
	for t := range special {
		names[openAPIName(t)] = true
	}
	for t := range schemaOr {
		names[openAPIName(t)] = true
	}
	names["io.k8s.apimachinery.pkg.apis.meta.v1.Patch"] = true
	return names
}
