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
	Unions     json.RawMessage   `json:"x-kubernetes-unions"`
}

// GroupVersion is a group and a version of it.
type GroupVersion struct {
	Group   string `json:"group"`
	Version string `json:"version"`
}

// readOptionVersions lists the group versions under which the options of package meta may be sent.
func readOptionVersions(dir string) ([]GroupVersion, error) {
	var document struct {
		Definitions map[string]struct {
			Kinds []GroupVersion `json:"x-kubernetes-group-version-kind"`
		} `json:"definitions"`
	}
	if err := readJSON(filepath.Join(dir, "api", "openapi-spec", "swagger.json"), &document); err != nil {
		return nil, err
	}
	return document.Definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"].Kinds, nil
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
