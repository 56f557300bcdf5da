package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupFacts is an API group with the versions that a server serves by default.
type GroupFacts struct {
	Name     string         `json:"name"`
	Versions []VersionFacts `json:"versions"`
}

// VersionFacts is one version of a group.
type VersionFacts struct {
	Version   string          `json:"version"`
	Resources []ResourceFacts `json:"resources"`
}

// ResourceFacts is a row of discovery; a subresource has a slash in its name.
type ResourceFacts struct {
	metav1.APIResource
	// Type is the OpenAPI name of the kind's type; empty where the type is not known.
	Type string `json:"type"`
}

// Alpha and beta versions are off unless asked for; the documents list them because they are written with everything on.
var generallyAvailable = regexp.MustCompile(`^v[0-9]+$`)

// readGroups reads the discovery documents: groups in the order `/apis` prints them, the core group first.
func readGroups(dir string) ([]GroupFacts, error) {
	dir = filepath.Join(dir, "api", "discovery")
	var list metav1.APIGroupList
	if err := readJSON(filepath.Join(dir, "apis.json"), &list); err != nil {
		return nil, err
	}
	core, err := readVersion(dir, "api__v1.json", "v1")
	if err != nil {
		return nil, err
	}
	groups := []GroupFacts{{Name: "", Versions: []VersionFacts{core}}}
	for _, group := range list.Groups {
		facts := GroupFacts{Name: group.Name}
		for _, version := range group.Versions {
			if !generallyAvailable.MatchString(version.Version) {
				continue
			}
			file := "apis__" + strings.ReplaceAll(version.GroupVersion, "/", "__") + ".json"
			read, err := readVersion(dir, file, version.Version)
			if err != nil {
				return nil, err
			}
			facts.Versions = append(facts.Versions, read)
		}
		if len(facts.Versions) > 0 {
			groups = append(groups, facts)
		}
	}
	return groups, nil
}

func readVersion(dir, file, version string) (VersionFacts, error) {
	var list metav1.APIResourceList
	if err := readJSON(filepath.Join(dir, file), &list); err != nil {
		return VersionFacts{}, err
	}
	facts := VersionFacts{Version: version}
	for _, resource := range list.APIResources {
		facts.Resources = append(facts.Resources, ResourceFacts{APIResource: resource})
	}
	return facts, nil
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
