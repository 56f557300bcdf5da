//! Every marker of controller-gen that is about schemas and definitions stands in a golden.

/// The Go sources of the goldens.
const SOURCES: [&str; 12] = [
    include_str!("../../golden/go/v1/choices_types.go"),
    include_str!("../../golden/go/v1/defaults_types.go"),
    include_str!("../../golden/go/v1/lists_types.go"),
    include_str!("../../golden/go/v1/names_types.go"),
    include_str!("../../golden/go/v1/numbers_types.go"),
    include_str!("../../golden/go/v1/objects_types.go"),
    include_str!("../../golden/go/v1/rules_types.go"),
    include_str!("../../golden/go/v1/texts_types.go"),
    include_str!("../../golden/go/versions/v0/officer_types.go"),
    include_str!("../../golden/go/versions/v1/officer_types.go"),
    include_str!("../../golden/go/versions/v1alpha1/officer_types.go"),
    include_str!("../../golden/go/versions/v1beta1/officer_types.go"),
];

/// The markers. Of those that may stand in several places, each place.
const MARKERS: [&str; 58] = [
    "groupName=",
    "kubebuilder:resource:path=",
    "singular=",
    "shortName=",
    "categories=",
    "scope=Cluster",
    "kubebuilder:subresource:status",
    "kubebuilder:subresource:scale:specpath=",
    "kubebuilder:printcolumn:name=",
    "priority=1",
    "kubebuilder:storageversion",
    "kubebuilder:skipversion",
    "kubebuilder:unservedversion",
    "kubebuilder:deprecatedversion",
    "kubebuilder:deprecatedversion:warning=",
    "kubebuilder:metadata:annotations=",
    "kubebuilder:selectablefield:JSONPath=",
    "kubebuilder:externalDocs:url=",
    "kubebuilder:validation:Maximum=",
    "kubebuilder:validation:Minimum=",
    "kubebuilder:validation:ExclusiveMaximum=",
    "kubebuilder:validation:ExclusiveMinimum=",
    "kubebuilder:validation:MultipleOf=",
    "kubebuilder:validation:MinProperties=",
    "kubebuilder:validation:MaxProperties=",
    "kubebuilder:validation:MaxLength=",
    "kubebuilder:validation:MinLength=",
    "kubebuilder:validation:Pattern=",
    "kubebuilder:validation:MaxItems=",
    "kubebuilder:validation:MinItems=",
    "kubebuilder:validation:Enum=",
    "kubebuilder:validation:Format=",
    "kubebuilder:validation:Type=",
    "kubebuilder:validation:XPreserveUnknownFields",
    "kubebuilder:validation:XEmbeddedResource",
    "kubebuilder:validation:XIntOrString",
    "kubebuilder:validation:XValidation:rule=",
    "messageExpression=",
    "reason=",
    "fieldPath=",
    "optionalOldSelf=",
    "kubebuilder:validation:items:",
    "kubebuilder:validation:Optional",
    "required",
    "optional",
    "nullable",
    "kubebuilder:default=",
    "default=",
    "kubebuilder:example=",
    "kubebuilder:validation:EmbeddedResource",
    "kubebuilder:validation:Schemaless",
    "k8s:immutable",
    "kubebuilder:validation:ExactlyOneOf=",
    "kubebuilder:validation:AtMostOneOf=",
    "kubebuilder:validation:AtLeastOneOf=",
    "k8s:enum",
    "kubebuilder:pruning:PreserveUnknownFields",
    "kubebuilder:title=",
];

/// How lists, maps and structs merge.
const TOPOLOGY: [&str; 7] = [
    "listType=map",
    "listType=set",
    "listType=atomic",
    "listMapKey=",
    "mapType=granular",
    "mapType=atomic",
    "structType=atomic",
];

#[test]
fn every_marker_stands_in_a_golden() {
    let lines: Vec<&str> = SOURCES
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| line.trim().strip_prefix("// +"))
        .collect();
    for marker in MARKERS.iter().chain(&TOPOLOGY) {
        let argument = !marker.contains(':');
        let found = lines
            .iter()
            .any(|line| line.starts_with(marker) || (argument && line.contains(marker)));
        assert!(found, "no golden has {marker}");
    }
}
