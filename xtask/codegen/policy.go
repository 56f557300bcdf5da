package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Policy is the RBAC policy that a cluster has from the start.
type Policy struct {
	ClusterRoles        []rbacv1.ClusterRole        `json:"clusterRoles"`
	ClusterRoleBindings []rbacv1.ClusterRoleBinding `json:"clusterRoleBindings"`
	Roles               []rbacv1.Role               `json:"roles"`
	RoleBindings        []rbacv1.RoleBinding        `json:"roleBindings"`
}

// readPolicy reads the lists that the release compares its policy with, and fills the aggregated roles.
func readPolicy(dir string) (*Policy, error) {
	dir = filepath.Join(dir, "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata")
	var policy Policy
	for _, file := range []struct {
		name string
		read func([]byte) error
	}{
		{"cluster-roles.yaml", appendTo(&policy.ClusterRoles)},
		{"controller-roles.yaml", appendTo(&policy.ClusterRoles)},
		{"cluster-role-bindings.yaml", appendTo(&policy.ClusterRoleBindings)},
		{"controller-role-bindings.yaml", appendTo(&policy.ClusterRoleBindings)},
		{"namespace-roles.yaml", appendTo(&policy.Roles)},
		{"namespace-role-bindings.yaml", appendTo(&policy.RoleBindings)},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file.name))
		if err != nil {
			return nil, err
		}
		if err := file.read(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	return &policy, aggregate(policy.ClusterRoles)
}

func appendTo[T any](items *[]T) func([]byte) error {
	return func(text []byte) error {
		var list struct{ Items []T }
		if err := yaml.Unmarshal(text, &list); err != nil {
			return err
		}
		*items = append(*items, list.Items...)
		return nil
	}
}

// aggregate gives each role with an aggregation rule the rules of the roles that it selects, until nothing changes.
func aggregate(roles []rbacv1.ClusterRole) error {
	for changed := true; changed; {
		changed = false
		for i := range roles {
			role := &roles[i]
			if role.AggregationRule == nil {
				continue
			}
			rules, err := selected(role, roles)
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(rules, role.Rules) {
				role.Rules, changed = rules, true
			}
		}
	}
	return nil
}

func selected(role *rbacv1.ClusterRole, roles []rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		var sources []rbacv1.ClusterRole
		for _, source := range roles {
			if source.Name != role.Name && selector.Matches(labels.Set(source.Labels)) {
				sources = append(sources, source)
			}
		}
		sort.Slice(sources, func(a, b int) bool { return sources[a].Name < sources[b].Name })
		for _, source := range sources {
			for _, rule := range source.Rules {
				known := func(other rbacv1.PolicyRule) bool { return reflect.DeepEqual(rule, other) }
				if !contains(rules, known) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

func contains(rules []rbacv1.PolicyRule, matches func(rbacv1.PolicyRule) bool) bool {
	for _, rule := range rules {
		if matches(rule) {
			return true
		}
	}
	return false
}
