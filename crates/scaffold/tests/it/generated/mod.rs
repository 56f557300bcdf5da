//! What an import makes of `tests/crds`. Compared with a fresh run, and compiled.

#[rustfmt::skip]
pub(crate) mod certificates_v1;
#[rustfmt::skip]
pub(crate) mod gatewayclasses_v1;
#[rustfmt::skip]
pub(crate) mod gatewayclasses_v1beta1;
#[rustfmt::skip]
pub(crate) mod ipaddressclaims_v1alpha1;
#[rustfmt::skip]
pub(crate) mod prometheusrules_v1;
#[rustfmt::skip]
pub(crate) mod referencegrants_v1beta1;
#[rustfmt::skip]
pub(crate) mod ships_v1;
#[rustfmt::skip]
pub(crate) mod ships_v1alpha1;
#[rustfmt::skip]
pub(crate) mod workflowtaskresults_v1alpha1;

/// Both versions in one run, with the types that they share.
pub(crate) mod together {
    #[rustfmt::skip]
    pub(crate) mod gatewayclasses_v1;
    #[rustfmt::skip]
    pub(crate) mod gatewayclasses_v1beta1;
    #[rustfmt::skip]
    pub(crate) mod shared;
}
