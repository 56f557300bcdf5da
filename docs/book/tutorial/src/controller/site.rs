//! Makes the cluster what a `Site` says: a ConfigMap with its page.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kubewright::prelude::*;

use crate::api::web::v1::{Site, SiteSpec};

/// Registers the controller. Add permissions beyond the kinds it watches and owns here.
pub fn register(operator: &mut Operator) {
    let builder = Controller::for_::<Site>().owns::<ConfigMap>();
    operator.controller(builder, reconcile);
}

async fn reconcile(ctx: Context<Site>, site: Arc<Site>) -> Result<Action> {
    let html = html(&site.spec);

    let mut page = ConfigMap::default();
    page.metadata.name = Some(site.name_any());
    page.data = Some([("index.html".to_owned(), html.clone())].into());
    ctx.apply_owned(page).await?;

    let ready = ctx.condition("Ready", true, "Written", "the page is up to date");
    ctx.status(|status| {
        status.bytes = html.len() as i64;
        status.conditions.set(&ready);
    })
    .await?;
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
    fn text_of_users_is_escaped() {
        let site = SiteSpec {
            title: "a<b".into(),
            text: "R&D".into(),
        };
        assert!(html(&site).ends_with("<h1>a&lt;b</h1><p>R&amp;D</p>\n"));
    }
}
