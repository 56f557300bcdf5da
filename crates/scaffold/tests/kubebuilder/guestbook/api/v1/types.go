// Package v1 has the kinds of a guestbook.
// +kubebuilder:object:generate=true
// +groupName=webapp.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GuestbookSpec is what users want.
type GuestbookSpec struct {
	// Size is how many pages there are.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:default=3
	// +optional
	Size int32 `json:"size,omitempty"`

	// Title is what the cover says.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[A-Z]`
	Title string `json:"title"`

	// Colour of the cover.
	// +kubebuilder:validation:Enum=Red;Green
	// +optional
	Colour string `json:"colour,omitempty"`

	// +listType=map
	// +listMapKey=name
	// +optional
	Guests []Guest `json:"guests,omitempty"`
}

// Guest signs the book.
type Guest struct {
	// Name of the guest.
	Name string `json:"name"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// GuestbookStatus is what is the case.
type GuestbookStatus struct {
	// Ready says whether it can be signed.
	// +optional
	Ready bool `json:"ready,omitempty"`
}

// Guestbook is a book for guests.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gb,categories=all
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
type Guestbook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GuestbookSpec   `json:"spec"`
	Status GuestbookStatus `json:"status,omitempty"`
}

// ShelfSpec is what users want.
type ShelfSpec struct {
	// Books on it.
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	// +optional
	Books []string `json:"books,omitempty"`
}

// Shelf holds guestbooks.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=shelves
type Shelf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ShelfSpec `json:"spec"`
}
