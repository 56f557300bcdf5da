//! Conversion of `Site` between v1 and v2.

use kubewright::operator::Operator;

use crate::api::web::{v1, v2};

/// Registers the conversion, which the cluster calls to read or write objects in the other version.
pub fn register(operator: &mut Operator) {
    operator.conversion::<v1::Site, v2::Site>();
}

impl From<v1::Site> for v2::Site {
    fn from(old: v1::Site) -> Self {
        let spec = v2::SiteSpec {
            heading: old.spec.title,
            text: old.spec.text,
        };
        Self {
            metadata: old.metadata,
            spec,
            status: old.status,
        }
    }
}

impl From<v2::Site> for v1::Site {
    fn from(new: v2::Site) -> Self {
        let spec = v1::SiteSpec {
            title: new.spec.heading,
            text: new.spec.text,
        };
        Self {
            metadata: new.metadata,
            spec,
            status: new.status,
        }
    }
}
