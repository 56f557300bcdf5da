//! Kubeconfig files and credentials: how kube-client compares with client-go.
//!
//! [`kube::Config`] reads kubeconfig files, merges the files of `KUBECONFIG`, and finds the service account of a pod;
//! [`ClientOptions::connect`](crate::ClientOptions::connect) makes a client of it:
//!
//! ```no_run
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! use kube::{Config, config::KubeConfigOptions};
//! use kubewright_client::ClientOptions;
//!
//! let context = KubeConfigOptions { context: Some("staging".into()), ..Default::default() };
//! let client = ClientOptions::new().connect(Config::from_kubeconfig(&context).await?)?;
//! # Ok(())
//! # }
//! ```
//!
//! This page compares it with client-go, for kube 5.0. Rows marked with a star are checked by tests of this crate.
//!
//! # The same
//!
//! - Files: `KUBECONFIG` is a list whose empty entries are skipped, or `~/.kube/config`; an empty file is an empty
//!   configuration.\*
//! - Merging: the first file wins, whole entries at a time.\*
//! - Relative paths are relative to their file, including commands of plugins that contain a separator.
//! - Context, cluster and user can be chosen by name.
//! - Token files are reread within a minute; the last token stays in use if the file disappears.
//! - Plugins get `KUBERNETES_EXEC_INFO`, with the cluster if requested; tokens and certificates are refreshed before they
//!   expire. Plugins are not called where there is a token or a password.
//! - The certificate authority of a pod is reread when its file changes.
//!
//! # Different
//!
//! | subject | client-go | kube |
//! |---|---|---|
//! | a missing file in `KUBECONFIG`\* | is skipped | is an error |
//! | `extensions` of several files | are merged by name | the first file's list wins |
//! | the same name twice in a file\* | is an error | the first entry counts |
//! | a chosen user that does not exist\* | is an error | means no user |
//! | overriding server, CA, token and so on | also resets dependent settings | fields of [`kube::Config`] can be set, without such rules |
//! | credentials for `http` servers\* | are not sent | are sent |
//! | a token together with a password\* | is an error | the password wins |
//! | a token together with a token file | the token is used first, the file later | the token is used forever |
//! | impersonated groups without a user\* | are an error | are sent; the server rejects them |
//! | plugins without `apiVersion` or `interactiveMode`\* | are an error | are accepted |
//! | the service account of a pod | is used if there is no kubeconfig | is used if the kubeconfig cannot be used for any reason |
//! | the namespace of a pod | is `POD_NAMESPACE`, or that of its account | is that of its account, or an error |
//! | a kubeconfig without a namespace | uses that of the pod | uses `default` |
//! | `NO_PROXY` | applies to the server | is compared with the address of the proxy |
//! | white space around a token in a file\* | is trimmed | stays; a trailing newline makes requests fail |
//! | a request with an `Authorization` header | keeps it | loses it |
//! | a pod without the CA's file | uses the system's roots | is an error |
//! | the version of a plugin's response\* | must be the requested one | may be any |
//! | credentials of plugins | are shared by all clients of a process | are fetched for each client |
//! | `interactiveMode: Always` without a terminal | is an error | inherits standard input |
//!
//! # Missing
//!
//! - Writing and locking kubeconfig files.
//! - A timeout as an override: use [`ClientOptions::timeout`](crate::ClientOptions::timeout).
//! - New credentials after a 401, whether from a plugin or from a token file: create a new client. A token without an expiry
//!   that came from a plugin is used forever.
//! - Renewal of client certificates. A client whose certificate came from a plugin knows
//!   [until when](kube::Client::valid_until) it is valid.
//! - Rereading the CA file of a kubeconfig.
//! - Installation hints of plugins, and a policy for which plugins may run.
//! - Running plugins without blocking the calling thread.
//! - HTTP/2, and pings that detect a dead connection: kube speaks HTTP/1.1. Set
//!   [`read_timeout`](kube::Config::read_timeout), or watch for silence as informers do.
//! - Compressed responses, unless kube's feature `gzip` is on. Watches always ask not to be compressed.
