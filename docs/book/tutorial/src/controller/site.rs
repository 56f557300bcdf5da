//! Makes the cluster what a `Site` says: a ConfigMap with its page.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kubewright::{
    controller::{
        Action, Context, Controller, Error, Request, apply,
        conditions::{condition, set_status_condition},
        owner::set_controller_reference,
    },
    operator::Operator,
};
use serde_json::json;

use crate::api::web::v1::{Site, SiteSpec};

/// Registers the controller. Add permissions beyond the kinds it watches and owns here.
pub fn register(operator: &mut Operator) {
    let builder = Controller::for_::<Site>().owns::<ConfigMap>();
    operator.controller(builder, reconcile);
}

async fn reconcile(context: Context, request: Request) -> Result<Action, Error> {
    let Some(site) = context.get::<Site>(&request).await? else {
        // It was deleted; objects it owned are garbage-collected.
        return Ok(Action::done());
    };
    let namespace = request.namespace().unwrap_or_default();
    let html = html(&site.spec);

    let mut page = ConfigMap::default();
    page.metadata.name = Some(request.name().to_owned());
    page.metadata.namespace = Some(namespace.to_owned());
    page.data = Some([("index.html".to_owned(), html.clone())].into());
    set_controller_reference(&*site, &mut page)?;
    let pages = context.client().api::<ConfigMap>(namespace);
    apply(&pages, "site-operator", &page).await?;

    let mut status = site.status.clone().unwrap_or_default();
    let ready = condition("Ready", "True", "Written", "the page is up to date");
    let changed = set_status_condition(&mut status.conditions, ready);
    let bytes = html.len() as i64;
    if changed || status.bytes != bytes {
        status.bytes = bytes;
        let sites = context.client().api::<Site>(namespace);
        let patch = Patch::Merge(json!({ "status": status }));
        sites
            .patch_status(request.name(), &PatchParams::default(), &patch)
            .await?;
    }
    Ok(Action::done())
}

/// Returns the page of a site.
fn html(site: &SiteSpec) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let (title, text) = (escaped(&site.title), escaped(&site.text));
    format!("<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}</p>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_write_is_escaped() {
        let site = SiteSpec {
            title: "a<b".into(),
            text: "R&D".into(),
        };
        assert!(html(&site).ends_with("<h1>a&lt;b</h1><p>R&amp;D</p>\n"));
    }
}
