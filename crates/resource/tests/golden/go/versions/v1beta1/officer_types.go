// +groupName=golden.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Several versions.
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion
type Officer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Several versions.
	Spec OfficerSpec `json:"spec"`
}

type OfficerSpec struct {
	Grade string `json:"grade"`
}
