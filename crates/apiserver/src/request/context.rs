//! On whose behalf, and what there is to say besides the answer.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{info::RequestInfo, query::Query};
use crate::{admission::AdmissionChain, registry::Resource};

/// Who is asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// `system:serviceaccount:ns:name`, `alice`
    pub name: String,
    /// The uid the authenticator knows, or empty.
    pub uid: String,
    /// Groups, `system:authenticated` among them.
    pub groups: Vec<String>,
    /// Anything else the authenticator knows.
    pub extra: Vec<(String, Vec<String>)>,
}

/// Texts for the `Warning` header, collected while a request is handled. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

/// Everything a handler may want to know about its request.
#[derive(Clone)]
pub struct RequestContext {
    /// Where the request points.
    pub info: Arc<RequestInfo>,
    /// The query parameters.
    pub query: Arc<Query>,
    /// Who is asking.
    pub user: Arc<UserInfo>,
    /// The `User-Agent` header.
    pub user_agent: Arc<str>,
    /// Where to put warnings.
    pub warnings: Warnings,
    /// The resource that the request is about.
    pub resource: Arc<Resource>,
    /// Who has the last word on writes.
    pub admission: AdmissionChain,
}

impl Warnings {
    /// Adds a warning unless it is there already.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut list = self.0.lock();
        if !text.is_empty() && !list.contains(&text) {
            list.push(text);
        }
    }

    /// The warnings so far.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl RequestContext {
    /// The namespace of the request, or empty.
    pub fn namespace(&self) -> &str {
        &self.info.namespace
    }

    /// The name under which fields are managed: the option, or what stands before `/` in the user agent.
    pub fn field_manager(&self, option: &str) -> String {
        const LONGEST: usize = 128;
        if !option.is_empty() {
            return option.to_owned();
        }
        let prefix = self.user_agent.split('/').next().unwrap_or_default();
        let mut out = String::new();
        for c in prefix.chars().filter(|c| !c.is_control()) {
            if out.len() + c.len_utf8() > LONGEST {
                break;
            }
            out.push(c);
        }
        out
    }
}
