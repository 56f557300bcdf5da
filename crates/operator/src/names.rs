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
    /// The Service of the aggregated APIs.
    #[cfg(feature = "apiserver")]
    pub(crate) apiserver: String,
}

/// The names of objects derived from the Service of the aggregated APIs.
pub(crate) struct ApiServerNames {
    /// The Secret with the certificates.
    pub(crate) secret: String,
}

/// The names of objects derived from the Service of the webhooks.
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
            #[cfg(feature = "apiserver")]
            apiserver: format!("{prefix}-apiserver"),
            #[cfg(feature = "testing")]
            prefix,
        }
    }

    /// Returns the name of the operator's user.
    #[cfg(feature = "testing")]
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.home, self.account)
    }
}

impl WebhookNames {
    /// Derives the names from that of a Service.
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

impl ApiServerNames {
    /// Derives the names from that of a Service.
    pub(crate) fn of(service: &str) -> Self {
        Self {
            secret: format!("{service}-cert"),
        }
    }
}

/// Returns the name of a program as a DNS label, for the name of a namespace.
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
    fn every_program_name_becomes_a_valid_namespace() {
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
