//! The webhooks of `Site`.

use kubewright::prelude::*;

use crate::api::web::v1::Site;

/// Registers the webhooks, which the cluster calls before it stores a `Site`.
pub fn register(operator: &mut Operator) {
    operator.defaulter(SiteDefaulter);
    operator.validator(SiteValidator);
}

/// Sets the defaults of a `Site` that its schema cannot express.
pub struct SiteDefaulter;

impl Defaulter<Site> for SiteDefaulter {
    async fn default(&self, _ctx: &Admission<'_>, site: &mut Site) -> Result<()> {
        let spec = &mut site.spec;
        if spec.text.is_empty() {
            spec.text = format!("Welcome to {}.", spec.title);
        }
        Ok(())
    }
}

/// Validates a `Site` by the rules that its schema cannot express.
pub struct SiteValidator;

impl Validator<Site> for SiteValidator {
    /// Validates new and changed objects. Implement `validate_update` to compare with the old one.
    async fn validate(&self, ctx: &Admission<'_>, site: &Site) -> Result<()> {
        let namespace = ctx.namespace().unwrap_or_default();
        let sites = ctx.client()?.api::<Site>(namespace);
        let mut errors = FieldErrors::new();
        for other in sites.list(&Default::default()).await? {
            let is_other = other.metadata.name.as_deref() != ctx.name();
            if is_other && other.spec.title == site.spec.title {
                errors.duplicate("spec.title", &*site.spec.title);
            }
        }
        if site.spec.title.len() > 30 {
            ctx.warn("long titles are cut on small screens");
        }
        errors.into_result()
    }
}
