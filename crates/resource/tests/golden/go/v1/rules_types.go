package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Rules in CEL.
// +kubebuilder:object:root=true
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() < 20",message="names are short"
type Rules struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Rules in CEL.
	Spec RulesSpec `json:"spec"`
}

// Rules in CEL.
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min is at most max",reason="FieldValueForbidden",fieldPath=".min"
// +kubebuilder:validation:XValidation:rule="self.max >= oldSelf.max",messageExpression="oldSelf.max > 100 ? 'max was large' : 'max may only grow'"
type RulesSpec struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self != 'root'"
	// +optional
	User string `json:"user,omitempty"`
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self == oldSelf.value()",message="stays",optionalOldSelf=true
	// +optional
	Once string `json:"once,omitempty"`
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=10
	// +kubebuilder:validation:items:XValidation:rule="self.startsWith('a')",message="begins with a"
	// +optional
	Words []string `json:"words,omitempty"`
	// +k8s:immutable
	// +kubebuilder:validation:MaxLength=40
	Class string `json:"class"`
	// +k8s:immutable
	// +kubebuilder:validation:MaxLength=40
	// +optional
	Zone *string `json:"zone,omitempty"`
}
