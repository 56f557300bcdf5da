package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// How things merge, on types, and whether they must be there.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=merges,scope=Namespaced
// +kubebuilder:externalDocs:url="https://example.com/merges",description="All about merging"
type Merges struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// How things merge, on types, and whether they must be there.
	Spec MergesSpec `json:"spec"`
}

type MergesSpec struct {
	// +structType=granular
	// +optional
	Ref *Ref `json:"ref,omitempty"`
	// +kubebuilder:validation:Required
	Must string `json:"must,omitempty"`
	// +k8s:required
	Needed string `json:"needed,omitempty"`
	// +k8s:optional
	Free string `json:"free"`
	// +optional
	Rows RowSet `json:"rows,omitempty"`
	// +optional
	Keyed Keyed `json:"keyed,omitempty"`
	// +optional
	Whole AtomicMap `json:"whole,omitempty"`
	// +optional
	Seal []byte `json:"seal,omitempty"`
}

// +listType=set
type RowSet []string

// +listType=map
// +listMapKey=name
type Keyed []Port

// +mapType=atomic
type AtomicMap map[string]string
