//! Kubeconfig files and credentials: kube-client's, and what it lacks.
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
//! This page holds it against what client-go does, for kube 5.0. Rules have the names of the specification; those marked
//! with a star are held true by tests of this crate.
//!
//! # The same
//!
//! - Files: `KUBECONFIG` as a list, empty entries skipped, or `~/.kube/config`; an empty file is an empty configuration (CC-1,
//!   CC-4\*).
//! - Merging: the first file wins, whole entries at a time (CC-2\*).
//! - Relative paths are relative to their file, commands of plugins with a separator included (CC-3).
//! - Context, cluster and user can be chosen by name (CC-5).
//! - Token files are read again within a minute; one that has vanished leaves the last token in place (RE-16).
//! - Plugins: `KUBERNETES_EXEC_INFO` with the cluster if wanted, tokens and certificates, refresh before expiry (EX-1); not
//!   asked where there is a token or a password already (EX-3).
//! - The certificate authority of a pod is read again when its file changes (RE-15).
//!
//! # Different
//!
//! | rule | client-go | kube |
//! |---|---|---|
//! | CC-1\* | a missing file of `KUBECONFIG` is skipped | is an error |
//! | CC-2 | `extensions` merge by name | the first file's list wins as a whole |
//! | CC-4\* | the same name twice in a file is an error | the first one counts |
//! | CC-5\* | a user that is chosen by name and is not there is an error | nobody in particular, no error |
//! | CC-6 | server, CA, token and so on can be overridden, with rules for what else falls then | fields of [`kube::Config`] can be set, without such rules |
//! | CC-7\* | credentials go to `https` servers only | to any |
//! | CC-7\* | a token together with a password is an error | the password wins |
//! | CC-7 | a token beside a token file is used first, the file later | the token, for ever |
//! | CC-7\* | impersonated groups without a user are an error | are sent; the server refuses |
//! | CC-8\* | plugins need a command, an `apiVersion` and an `interactiveMode` | a command |
//! | CC-9 | in a pod, if there is no kubeconfig | in a pod, if the kubeconfig cannot be used for whatever reason |
//! | CC-10 | the namespace of a pod is `POD_NAMESPACE`, or that of its account | that of its account; if there is none, an error |
//! | CC-10 | a kubeconfig without a namespace uses that of the pod | `default` |
//! | RE-13 | `NO_PROXY` is about the server | is compared with the address of the proxy |
//! | RE-16\* | white space around a token in a file is cut off | stays, and a line break at the end makes requests fail |
//! | RE-16 | a request that has an `Authorization` keeps it | it is replaced |
//! | RE-19 | a pod without the CA's file works with the system's | is an error |
//! | EX-1\* | the version that a plugin answers in must be the one that was asked for | any |
//! | EX-2 | one credential for all clients of a process, fetched once | one for each client |
//! | EX-3 | `Always` without a terminal is an error, `IfAvailable` looks for one | both inherit standard input |
//!
//! # Missing
//!
//! - Writing kubeconfig files, locks, and credentials that plugins of old wanted stored (CC-12).
//! - Timeouts by override (CC-11): [`ClientOptions::timeout`](crate::ClientOptions::timeout).
//! - A 401 fetches no new credential, neither from a plugin nor from a token file (EX-2, RE-16): make a new client. A token
//!   from a plugin that has no expiry is used for ever.
//! - Certificates of clients are read once: neither files nor plugins renew them under way (RE-15, EX-2). A client whose
//!   certificate a plugin gave says [until when](kube::Client::valid_until) it is good.
//! - The CA's file of a kubeconfig is read once (RE-15).
//! - Installation hints of plugins, and a policy which plugins may be run (EX-3).
//! - A lock against plugins that take long: they run on the thread that asked, and block it.
//! - HTTP/2, and with it pings that notice a dead connection (RE-12): kube speaks HTTP/1.1. Set
//!   [`read_timeout`](kube::Config::read_timeout), or watch for silence as informers do.
//! - Compressed answers (RE-20), unless kube's feature `gzip` is on. Watches always ask not to be compressed.
