//! The APIs, by version, and the conversion between them. Objects are stored as v1.

pub mod v1;
pub mod v1alpha1;

use kubewright::operator::Operator;

/// Registers both versions and the conversion between them.
pub fn register(operator: &mut Operator) {
    operator
        .api::<v1::WebApp>()
        .api::<v1alpha1::WebApp>()
        .conversion::<v1::WebApp, v1alpha1::WebApp>();
}

impl From<v1alpha1::WebApp> for v1::WebApp {
    fn from(old: v1alpha1::WebApp) -> Self {
        Self {
            metadata: old.metadata,
            spec: v1::WebAppSpec {
                image: old.spec.image,
                replicas: old.spec.size,
                host: old.spec.ingress.map(|ingress| ingress.host),
                config: old.spec.config,
                secret: old.spec.secret,
            },
            status: old.status,
        }
    }
}

impl From<v1::WebApp> for v1alpha1::WebApp {
    fn from(new: v1::WebApp) -> Self {
        Self {
            metadata: new.metadata,
            spec: v1alpha1::WebAppSpec {
                image: new.spec.image,
                size: new.spec.replicas,
                ingress: new.spec.host.map(|host| v1alpha1::Ingress { host }),
                config: new.spec.config,
                secret: new.spec.secret,
            },
            status: new.status,
        }
    }
}
