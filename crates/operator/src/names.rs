//! [`Names`]: the names of an operator's objects, as `kubewright generate` gives them.

/// The names of an operator's objects.
#[cfg(feature = "runtime")]
pub(crate) struct Names {
    /// The prefix of all names.
    #[cfg(feature = "testing")]
    pub(crate) prefix: String,
    /// The namespace.
    #[cfg(feature = "testing")]
    pub(crate) home: String,
    /// The ServiceAccount.
    #[cfg(feature = "testing")]
    pub(crate) account: String,
    /// The Service of the webhooks.
    pub(crate) webhook_service: String,
}

/// The names of the objects that belong to the Service of an operator's webhooks.
pub(crate) struct WebhookNames {
    /// The Secret with the certificates.
    pub(crate) secret: String,
    /// The `MutatingWebhookConfiguration`.
    pub(crate) mutating: String,
    /// The `ValidatingWebhookConfiguration`.
    pub(crate) validating: String,
}

#[cfg(feature = "runtime")]
impl Names {
    pub(crate) fn of(operator: &str) -> Self {
        let prefix = dns_label(operator);
        Self {
            #[cfg(feature = "testing")]
            home: format!("{prefix}-system"),
            #[cfg(feature = "testing")]
            account: format!("{prefix}-controller-manager"),
            webhook_service: format!("{prefix}-webhook-service"),
            #[cfg(feature = "testing")]
            prefix,
        }
    }

    /// Returns the name of the user that the operator is.
    #[cfg(feature = "testing")]
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.home, self.account)
    }
}

impl WebhookNames {
    /// Returns the names of the objects that belong to a Service, which share its prefix.
    pub(crate) fn of(service: &str) -> Self {
        let prefix = service.strip_suffix("webhook-service");
        let prefix = prefix.map_or_else(|| format!("{service}-"), str::to_owned);
        Self {
            secret: format!("{prefix}webhook-server-cert"),
            mutating: format!("{prefix}mutating-webhook-configuration"),
            validating: format!("{prefix}validating-webhook-configuration"),
        }
    }
}

/// Returns the name of a program in a form that names of namespaces may have.
#[cfg(feature = "runtime")]
fn dns_label(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let label: String = lower
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    match label.trim_matches('-') {
        "" => "operator".to_owned(),
        label => label.to_owned(),
    }
}

#[cfg(all(test, feature = "runtime"))]
mod tests {
    use super::dns_label;

    #[test]
    fn every_name_of_a_program_gives_the_name_of_a_namespace() {
        for (name, label) in [
            ("shop", "shop"),
            ("My_Shop", "my-shop"),
            ("-x-", "x"),
            ("", "operator"),
            ("é", "operator"),
        ] {
            assert_eq!(dns_label(name), label);
        }
        assert_eq!(dns_label(&"x".repeat(100)).len(), 40);
    }
}
