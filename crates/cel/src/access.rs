//! Authorization checks of expressions: `authorizer.group('').resource('pods').check('create').allowed()`.
//!
//! An expression cannot wait, so it looks decisions up in [`AccessDecisions`]. A check without a decision ends the
//! evaluation with [`EvalError::Undecided`](crate::EvalError::Undecided); the caller decides it and evaluates again.

use std::{fmt, sync::Arc};

/// The decisions that authorization checks are answered with.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use kubewright_cel::{
///     AccessCheck, AccessDecision, AccessDecisions, AccessTarget, AdmissionEnv, AdmissionInput, EvalError,
///     Type, Value,
/// };
///
/// /// Remembers the check that is not decided yet.
/// #[derive(Debug, Default)]
/// struct Decisions(Mutex<Option<AccessCheck>>, Option<Arc<AccessDecision>>);
///
/// impl AccessDecisions for Decisions {
///     fn decision(&self, check: &AccessCheck) -> Option<Arc<AccessDecision>> {
///         *self.0.lock().unwrap() = Some(check.clone());
///         self.1.clone()
///     }
/// }
///
/// let env = AdmissionEnv::new().authorizer();
/// let expression = "authorizer.path('/healthz').check('get').allowed()";
/// let program = env.compile(expression, &[Type::Bool])?;
/// let mut decisions = Decisions::default();
/// let input = AdmissionInput { decisions: Some(&decisions), ..AdmissionInput::default() };
/// assert!(matches!(program.evaluate(&input.activation()).result, Err(EvalError::Undecided)));
/// let check = decisions.0.lock().unwrap().take().unwrap();
/// assert_eq!((&*check.verb, check.target), ("get", AccessTarget::Path("/healthz".into())));
///
/// decisions.1 = Some(Arc::new(AccessDecision { allowed: true, ..AccessDecision::default() }));
/// let input = AdmissionInput { decisions: Some(&decisions), ..AdmissionInput::default() };
/// assert!(matches!(program.evaluate(&input.activation()).result, Ok(Value::Bool(true))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AccessDecisions: fmt::Debug + Sync {
    /// Returns the decision about a check, or `None` if it is not known yet.
    fn decision(&self, check: &AccessCheck) -> Option<Arc<AccessDecision>>;
}

/// An authorization check of a user, a verb and a resource or path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccessCheck {
    /// The service account that the question is about, by namespace and name; `None` for the user of the request.
    pub service_account: Option<Arc<(String, String)>>,
    /// The verb.
    pub verb: Arc<str>,
    /// The thing that the verb is about.
    pub target: AccessTarget,
}

/// The thing that an authorization check is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AccessTarget {
    /// A path that names no resource.
    Path(Arc<str>),
    /// A resource.
    Resource(Arc<AccessedResource>),
}

/// A resource in an authorization check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AccessedResource {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource, such as `pods`.
    pub resource: String,
    /// The subresource, or empty.
    pub subresource: String,
    /// The namespace, or empty.
    pub namespace: String,
    /// The name of the object, or empty.
    pub name: String,
    /// The field selector as it was written, or empty.
    pub field_selector: String,
    /// The label selector as it was written, or empty.
    pub label_selector: String,
}

/// The answer to an authorization check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The reason, or empty.
    pub reason: String,
    /// A problem met on the way.
    pub error: Option<String>,
}

/// The variable `authorizer`, or the authorizer of a service account.
#[derive(Debug, Clone)]
pub struct Authorizer<'a> {
    decisions: &'a dyn AccessDecisions,
    service_account: Option<Arc<(String, String)>>,
}

/// A step of an authorization check.
#[derive(Debug, Clone)]
pub enum Access<'a> {
    /// `authorizer`
    Authorizer(Authorizer<'a>),
    /// `authorizer.path(...)`
    PathCheck(Authorizer<'a>, Arc<str>),
    /// `authorizer.group(...)`
    GroupCheck(Authorizer<'a>, Arc<str>),
    /// `authorizer.group(...).resource(...)`
    ResourceCheck(Authorizer<'a>, Arc<AccessedResource>),
    /// `... .check(...)`
    Decision(Arc<AccessDecision>),
}

impl<'a> Authorizer<'a> {
    /// Returns the authorizer of the user of a request.
    pub(crate) fn new(decisions: &'a dyn AccessDecisions) -> Self {
        Self {
            decisions,
            service_account: None,
        }
    }

    pub(crate) fn of_service_account(&self, namespace: &str, name: &str) -> Self {
        Self {
            decisions: self.decisions,
            service_account: Some(Arc::new((namespace.to_owned(), name.to_owned()))),
        }
    }

    pub(crate) fn decide(&self, verb: &str, target: AccessTarget) -> Option<Arc<AccessDecision>> {
        self.decisions.decision(&AccessCheck {
            service_account: self.service_account.clone(),
            verb: verb.into(),
            target,
        })
    }
}

impl Access<'_> {
    /// The name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(..) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(..) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(..) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}
