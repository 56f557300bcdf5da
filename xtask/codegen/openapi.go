package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
)

// Schema is the part of an OpenAPI schema that carries facts.
type Schema struct {
	Properties map[string]Schema `json:"properties"`
	Required   []string          `json:"required"`
	Default    json.RawMessage   `json:"default"`
	ListType   string            `json:"x-kubernetes-list-type"`
	ListKeys   []string          `json:"x-kubernetes-list-map-keys"`
	MapType    string            `json:"x-kubernetes-map-type"`
}

// readSchemas merges the schemas of every OpenAPI document, by name.
func readSchemas(dir string) (map[string]Schema, error) {
	files, err := filepath.Glob(filepath.Join(dir, "api", "openapi-spec", "v3", "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	schemas := map[string]Schema{}
	for _, file := range files {
		var document struct {
			Components struct {
				Schemas map[string]Schema `json:"schemas"`
			} `json:"components"`
		}
		if err := readJSON(file, &document); err != nil {
			return nil, err
		}
		for name, schema := range document.Components.Schemas {
			schemas[name] = schema
		}
	}
	return schemas, nil
}
