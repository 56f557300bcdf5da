package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
)

// Enums holds the values that a schema lists for a field, or for the items of a list: by package path and type name,
// then by JSON name. The OpenAPI documents of the release are written without them, a server publishes them; they
// are in the Go source that servers build their documents from.
type Enums map[[2]string]map[string][]string

// readEnums parses the generated OpenAPI definitions.
func readEnums(dir string) (Enums, error) {
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
	owners := map[string][2]string{} // by the name of the function that builds the schema
	enums := Enums{}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if function.Name.Name == "GetOpenAPIDefinitions" {
			ast.Inspect(function.Body, func(node ast.Node) bool {
				if entry, ok := node.(*ast.KeyValueExpr); ok {
					if name, builder, ok := definition(entry); ok {
						owners[builder] = [2]string{packages[name[0]], name[1]}
					}
				}
				return true
			})
			continue
		}
		owner, ok := owners[function.Name.Name]
		if !ok {
			continue
		}
		ast.Inspect(function.Body, func(node ast.Node) bool {
			properties, ok := node.(*ast.KeyValueExpr)
			if !ok || !isNamed(properties.Key, "Properties") {
				return true
			}
			for _, element := range properties.Value.(*ast.CompositeLit).Elts {
				property := element.(*ast.KeyValueExpr)
				if values := listed(property.Value); values != nil {
					if enums[owner] == nil {
						enums[owner] = map[string][]string{}
					}
					enums[owner][literal(property.Key.(*ast.BasicLit))] = values
				}
			}
			return false
		})
	}
	return enums, nil
}

// definition reads an entry such as `v1.Pod{}.OpenAPIModelName(): schema_core_v1_Pod(ref)`.
func definition(entry *ast.KeyValueExpr) (name [2]string, builder string, ok bool) {
	key, ok1 := entry.Key.(*ast.CallExpr)
	value, ok2 := entry.Value.(*ast.CallExpr)
	if !ok1 || !ok2 {
		return
	}
	method, ok1 := key.Fun.(*ast.SelectorExpr)
	function, ok2 := value.Fun.(*ast.Ident)
	if !ok1 || !ok2 {
		return
	}
	zero, ok1 := method.X.(*ast.CompositeLit)
	if !ok1 {
		return
	}
	qualified, ok1 := zero.Type.(*ast.SelectorExpr)
	if !ok1 {
		return
	}
	name = [2]string{qualified.X.(*ast.Ident).Name, qualified.Sel.Name}
	return name, function.Name, true
}

// listed finds the strings of the first `Enum: []interface{}{...}` below a node.
func listed(node ast.Node) (values []string) {
	ast.Inspect(node, func(node ast.Node) bool {
		enum, ok := node.(*ast.KeyValueExpr)
		if !ok || !isNamed(enum.Key, "Enum") || values != nil {
			return values == nil
		}
		for _, value := range enum.Value.(*ast.CompositeLit).Elts {
			values = append(values, literal(value.(*ast.BasicLit)))
		}
		return false
	})
	return values
}

func isNamed(key ast.Expr, name string) bool {
	ident, ok := key.(*ast.Ident)
	return ok && ident.Name == name
}

func literal(lit *ast.BasicLit) string {
	value, err := strconv.Unquote(lit.Value)
	if err != nil {
		return lit.Value
	}
	return value
}
