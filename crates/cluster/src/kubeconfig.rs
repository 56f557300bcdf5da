//! [`Kubeconfig`]: the file that kubectl and client libraries read.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The contents of a kubeconfig with one cluster, one user and one context.
///
/// ```
/// use kubewright_cluster::Kubeconfig;
///
/// let mut kubeconfig = Kubeconfig::new("dev", "https://127.0.0.1:6443");
/// kubeconfig.token = Some("s3cret".to_owned());
/// assert!(kubeconfig.to_yaml().contains("current-context: \"dev\""));
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
    /// The bearer token of the user.
    pub token: Option<String>,
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
            token: None,
        }
    }

    /// Formats the kubeconfig as YAML.
    pub fn to_yaml(&self) -> String {
        let ca = self.ca_pem.as_ref().map_or(String::new(), |pem| {
            format!("    certificate-authority-data: {}\n", STANDARD.encode(pem))
        });
        let user = match &self.token {
            Some(token) => format!("\n    token: {}", quoted(token)),
            None => " {}".to_owned(),
        };
        format!(
            "\
apiVersion: v1
kind: Config
clusters:
- name: {cluster}
  cluster:
{ca}    server: {server}
users:
- name: {user_name}
  user:{user}
contexts:
- name: {context}
  context:
    cluster: {cluster}
    user: {user_name}
current-context: {context}
preferences: {{}}
",
            cluster = quoted(&self.cluster),
            server = quoted(&self.server),
            user_name = quoted(&self.user),
            context = quoted(&self.context),
        )
    }
}

/// Quotes a string; every JSON string is a YAML string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_yaml_that_says_what_was_put_in() {
        let config = Kubeconfig {
            ca_pem: Some("PEM".into()),
            token: Some("a \"b\": c".into()),
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
    fn what_is_not_there_is_left_out() {
        let text = Kubeconfig::new("dev", "http://localhost:8080").to_yaml();
        let yaml: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(yaml["users"][0]["user"], serde_json::json!({}));
        assert_eq!(
            yaml["clusters"][0]["cluster"],
            serde_json::json!({"server": "http://localhost:8080"})
        );
    }
}
