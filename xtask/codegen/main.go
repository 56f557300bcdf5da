// Codegen prints the facts about the built-in kinds of Kubernetes as one JSON document on standard output.
//
// It reads these sources of the pinned release: the Go types (by reflection: names, order, struct tags), the OpenAPI
// documents (list and map types, defaults, required fields, listed values), the discovery documents (groups,
// resources, verbs) and the Go source of the unversioned types (names, order); and the RBAC policy of a new cluster.
// The names of time zones come from the Go toolchain.
// It takes facts; and, kept apart from them, the descriptions that servers publish for people (Apache-2.0, the
// Kubernetes Authors). `cargo xtask codegen` runs it and writes the Rust tables.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// The release whose documents are read. The sum is checked against what the Go toolchain downloads; the versions of
// the Go types are pinned by go.mod and go.sum beside this file.
const (
	kubernetesVersion = "v1.36.3"
	kubernetesSum     = "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o="
)

// Facts is the whole output.
type Facts struct {
	Release   string       `json:"release"`
	Groups    []GroupFacts `json:"groups"`
	Kinds     []KindFacts  `json:"kinds"`
	Types     []TypeFacts  `json:"types"`
	Forms     []FormFacts  `json:"forms"`
	TimeZones []string     `json:"timeZones"`
	Policy    *Policy      `json:"policy"`
	GoTypes   []GoType     `json:"goTypes"`

	OptionVersions []GroupVersion `json:"optionVersions"`
	Descriptions   Descriptions   `json:"descriptions"`
}

func main() {
	facts, err := collect()
	if err == nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(facts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "codegen:", err)
		os.Exit(1)
	}
}

func collect() (*Facts, error) {
	dir, err := download()
	if err != nil {
		return nil, err
	}
	schemas, err := readSchemas(dir)
	if err != nil {
		return nil, err
	}
	enums, err := readEnums(dir)
	if err != nil {
		return nil, err
	}
	groups, err := readGroups(dir)
	if err != nil {
		return nil, err
	}
	kinds, types, err := reflectTypes(groups, schemas, enums)
	if err != nil {
		return nil, err
	}
	descriptions, err := readDescriptions(dir, describedNames(types))
	if err != nil {
		return nil, err
	}
	optionVersions, err := readOptionVersions(dir)
	if err != nil {
		return nil, err
	}
	forms, err := readForms(dir)
	if err != nil {
		return nil, err
	}
	zones, err := readTimeZones(dir)
	if err != nil {
		return nil, err
	}
	policy, err := readPolicy(dir)
	if err != nil {
		return nil, err
	}
	return &Facts{
		Release: kubernetesVersion, Groups: groups, Kinds: kinds, Types: types, Forms: forms, TimeZones: zones,
		Policy:         policy,
		GoTypes:        goTypes(),
		OptionVersions: optionVersions, Descriptions: descriptions,
	}, nil
}

// download fetches the release into the module cache and returns its folder.
func download() (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+kubernetesVersion).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download k8s.io/kubernetes@%s: %w", kubernetesVersion, err)
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", err
	}
	if module.Sum != kubernetesSum {
		return "", fmt.Errorf("k8s.io/kubernetes@%s has sum %s, pinned is %s", kubernetesVersion, module.Sum, kubernetesSum)
	}
	return module.Dir, nil
}
