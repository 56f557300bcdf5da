//! [`Kubeconfig`]: the file that kubectl and client libraries read.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::CertifiedKey;

/// A kubeconfig with one cluster, one user and current context, and optionally further users.
///
/// ```
/// use kubewright_cluster::{Credential, Kubeconfig, KubeconfigUser};
///
/// let mut kubeconfig = Kubeconfig::new("dev", "https://127.0.0.1:6443");
/// kubeconfig.credential = Some(Credential::Token("s3cret".to_owned()));
/// kubeconfig.others.push(KubeconfigUser {
///     name: "alice".to_owned(),
///     credential: Credential::Token("0ther".to_owned()),
///     namespace: None,
/// });
/// let yaml = kubeconfig.to_yaml();
/// assert!(yaml.contains("current-context: \"dev\""));
/// assert!(yaml.contains("name: \"alice\""));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeconfig {
    /// The name of the cluster in the file.
    pub cluster: String,
    /// The name of the user in the file.
    pub user: String,
    /// The name of the context in the file, which is the current one.
    pub context: String,
    /// The URL of the server, such as `https://127.0.0.1:6443`.
    pub server: String,
    /// The certificate authority as PEM. Not needed for plain HTTP, or if the system trusts the authority.
    pub ca_pem: Option<String>,
    /// The credential of the user.
    pub credential: Option<Credential>,
    /// The default namespace of the context.
    pub namespace: Option<String>,
    /// Further users, each with a context of the same name.
    pub others: Vec<KubeconfigUser>,
}

/// A further user of a [`Kubeconfig`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigUser {
    /// The name of the user and of the context.
    pub name: String,
    /// The credential.
    pub credential: Credential,
    /// The default namespace of the context.
    pub namespace: Option<String>,
}

/// A credential of a user.
///
/// ```
/// use kubewright_cluster::Credential;
///
/// let token = Credential::Token("s3cret".to_owned());
/// assert_eq!(format!("{token:?}"), "Token(..)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A bearer token.
    Token(String),
    /// A client certificate and its key.
    Certificate(CertifiedKey),
}

impl Kubeconfig {
    /// Creates a kubeconfig for a server, with one name for the cluster, the user and the context.
    pub fn new(name: impl Into<String>, server: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            cluster: name.clone(),
            user: name.clone(),
            context: name,
            server: server.into(),
            ca_pem: None,
            credential: None,
            namespace: None,
            others: Vec::new(),
        }
    }

    /// Formats the kubeconfig as YAML.
    pub fn to_yaml(&self) -> String {
        let ca = self.ca_pem.as_ref().map_or(String::new(), |pem| {
            format!("    certificate-authority-data: {}\n", STANDARD.encode(pem))
        });
        let (cluster, server) = (quoted(&self.cluster), quoted(&self.server));
        let mut users = user(&self.user, self.credential.as_ref());
        let mut contexts = self.context(&self.context, &self.user, self.namespace.as_deref());
        for other in &self.others {
            let namespace = other.namespace.as_deref();
            users.push_str(&user(&other.name, Some(&other.credential)));
            contexts.push_str(&self.context(&other.name, &other.name, namespace));
        }
        format!(
            "\
apiVersion: v1
kind: Config
clusters:
- name: {cluster}
  cluster:
{ca}    server: {server}
users:
{users}contexts:
{contexts}current-context: {context}
preferences: {{}}
",
            context = quoted(&self.context),
        )
    }

    fn context(&self, name: &str, user: &str, namespace: Option<&str>) -> String {
        let namespace = namespace.map_or(String::new(), |namespace| {
            format!("    namespace: {}\n", quoted(namespace))
        });
        format!(
            "- name: {}\n  context:\n    cluster: {}\n    user: {}\n{namespace}",
            quoted(name),
            quoted(&self.cluster),
            quoted(user)
        )
    }
}

/// Omits the secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(..)",
            Self::Certificate(_) => "Certificate(..)",
        })
    }
}

fn user(name: &str, credential: Option<&Credential>) -> String {
    let credential = match credential {
        None => " {}".to_owned(),
        Some(Credential::Token(token)) => format!("\n    token: {}", quoted(token)),
        Some(Credential::Certificate(own)) => format!(
            "\n    client-certificate-data: {}\n    client-key-data: {}",
            STANDARD.encode(&own.certificate_pem),
            STANDARD.encode(&own.key_pem)
        ),
    };
    format!("- name: {}\n  user:{credential}\n", quoted(name))
}

/// Quotes a string; every JSON string is a YAML string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfigs_are_valid_yaml() {
        let config = Kubeconfig {
            ca_pem: Some("PEM".into()),
            credential: Some(Credential::Token("a \"b\": c".into())),
            user: "admin".into(),
            ..Kubeconfig::new("dev", "https://127.0.0.1:6443")
        };
        let yaml: Value = serde_saphyr::from_str(&config.to_yaml()).unwrap();
        assert_eq!(yaml["clusters"][0]["name"], "dev");
        assert_eq!(
            yaml["clusters"][0]["cluster"]["server"],
            "https://127.0.0.1:6443"
        );
        assert_eq!(
            yaml["clusters"][0]["cluster"]["certificate-authority-data"],
            "UEVN"
        );
        assert_eq!(
            yaml["users"][0],
            serde_json::json!({"name": "admin", "user": {"token": "a \"b\": c"}})
        );
        assert_eq!(
            yaml["contexts"][0]["context"],
            serde_json::json!({"cluster": "dev", "user": "admin"})
        );
        assert_eq!(yaml["current-context"], "dev");
    }

    #[test]
    fn missing_values_are_omitted() {
        let text = Kubeconfig::new("dev", "http://localhost:8080").to_yaml();
        let yaml: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(yaml["users"][0]["user"], serde_json::json!({}));
        assert_eq!(
            yaml["clusters"][0]["cluster"],
            serde_json::json!({"server": "http://localhost:8080"})
        );
    }

    #[test]
    fn further_users_have_contexts_of_their_own() {
        let mut config = Kubeconfig::new("dev", "https://127.0.0.1:6443");
        let own = CertifiedKey {
            certificate_pem: "C".into(),
            key_pem: "K".into(),
        };
        config.others = vec![
            KubeconfigUser {
                name: "alice".into(),
                credential: Credential::Certificate(own),
                namespace: None,
            },
            KubeconfigUser {
                name: "system:serviceaccount:shop:web".into(),
                credential: Credential::Token("t".into()),
                namespace: Some("shop".into()),
            },
        ];
        let yaml: Value = serde_saphyr::from_str(&config.to_yaml()).unwrap();
        assert_eq!(yaml["current-context"], "dev");
        let alice =
            serde_json::json!({"client-certificate-data": "Qw==", "client-key-data": "Sw=="});
        assert_eq!(yaml["users"][1]["user"], alice);
        assert_eq!(yaml["contexts"][1]["name"], "alice");
        assert_eq!(
            yaml["contexts"][2]["context"],
            serde_json::json!({
                "cluster": "dev", "namespace": "shop", "user": "system:serviceaccount:shop:web",
            })
        );
    }
}
