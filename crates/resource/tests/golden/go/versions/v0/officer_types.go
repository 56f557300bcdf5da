// +groupName=golden.example.com
package v0

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Several versions.
// +kubebuilder:object:root=true
// +kubebuilder:skipversion
type Officer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec OfficerSpec `json:"spec"`
}

type OfficerSpec struct {
	Old string `json:"old"`
}
