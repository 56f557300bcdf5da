//! Computes the Ingress of a Service, without requests.

use k8s_openapi::api::{
    core::v1::Service,
    networking::v1::{
        HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule,
        IngressServiceBackend, IngressSpec, ServiceBackendPort,
    },
};
use kube::ResourceExt;
use kubewright_controller::owner::{OwnerError, controller_of, set_controller_reference};

/// The annotation that requests an Ingress, with any value.
pub const ANNOTATION: &str = "ingress/http";

/// The host of every Ingress.
pub const HOST: &str = "example.com";

/// The class of every Ingress.
pub const CLASS: &str = "nginx";

/// Returns the Ingress of a Service: none without the annotation, without a port, or while it is being deleted.
///
/// ```
/// use ingress_manager::ingress::{backend, wanted};
/// use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
///
/// let mut service = Service::default();
/// service.metadata.name = Some("web".into());
/// service.metadata.namespace = Some("default".into());
/// service.metadata.uid = Some("6c8b".into());
/// let port = ServicePort { port: 80, ..ServicePort::default() };
/// service.spec = Some(ServiceSpec { ports: Some(vec![port]), ..ServiceSpec::default() });
/// assert_eq!(wanted(&service), Ok(None));
///
/// service.metadata.annotations = Some([("ingress/http".into(), "true".into())].into());
/// let ingress = wanted(&service).unwrap().unwrap();
/// assert_eq!(backend(&ingress), Some(("example.com", "web", 80)));
/// ```
pub fn wanted(service: &Service) -> Result<Option<Ingress>, OwnerError> {
    let asks = service.annotations().contains_key(ANNOTATION);
    let leaves = service.metadata.deletion_timestamp.is_some();
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let Some(port) = ports.and_then(|ports| ports.first()).map(|port| port.port) else {
        return Ok(None);
    };
    if !asks || leaves {
        return Ok(None);
    }
    let mut ingress = Ingress::default();
    ingress.metadata.name = service.metadata.name.clone();
    ingress.metadata.namespace = service.metadata.namespace.clone();
    set_controller_reference(service, &mut ingress)?;
    ingress.spec = Some(IngressSpec {
        ingress_class_name: Some(CLASS.into()),
        rules: Some(vec![rule(&service.name_any(), port)]),
        ..IngressSpec::default()
    });
    Ok(Some(ingress))
}

/// Reports whether an Ingress is up to date. Fields that others have added, such as TLS, are ignored.
pub fn is_as_wanted(ingress: &Ingress, wanted: &Ingress) -> bool {
    let managed = |ingress: &Ingress| {
        let spec = ingress.spec.clone().unwrap_or_default();
        (spec.ingress_class_name, spec.rules)
    };
    managed(ingress) == managed(wanted) && controller_of(ingress) == controller_of(wanted)
}

/// Reports whether the Ingress is controlled by the Service with this name.
pub fn is_ours(ingress: &Ingress, service: &str) -> bool {
    controller_of(ingress).is_some_and(|owner| {
        owner.api_version == "v1" && owner.kind == "Service" && owner.name == service
    })
}

/// Returns the host of an Ingress and the Service and port it routes to.
pub fn backend(ingress: &Ingress) -> Option<(&str, &str, i32)> {
    let rule = ingress.spec.as_ref()?.rules.as_ref()?.first()?;
    let path = rule.http.as_ref()?.paths.first()?;
    let service = path.backend.service.as_ref()?;
    let port = service.port.as_ref()?.number?;
    Some((rule.host.as_deref()?, &service.name, port))
}

fn rule(service: &str, port: i32) -> IngressRule {
    let backend = IngressServiceBackend {
        name: service.to_owned(),
        port: Some(ServiceBackendPort {
            number: Some(port),
            name: None,
        }),
    };
    let path = HTTPIngressPath {
        path: Some("/".into()),
        path_type: "Prefix".into(),
        backend: IngressBackend {
            service: Some(backend),
            resource: None,
        },
    };
    IngressRule {
        host: Some(HOST.into()),
        http: Some(HTTPIngressRuleValue { paths: vec![path] }),
    }
}
