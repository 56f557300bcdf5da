//! The conditions of a CRD: names accepted, established, API approved, terminating.

use kubewright_machinery::go;
use serde_json::{Value, json};

use kubewright_custom_kinds::Names;

/// The finalizer that holds a CRD until its objects are deleted.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

const APPROVED: &str = "api-approved.kubernetes.io";

/// Returns whether a condition is true.
pub(super) fn is_true(crd: &Value, ty: &str) -> bool {
    find(crd, ty).is_some_and(|c| c["status"] == "True")
}

fn find<'a>(crd: &'a Value, ty: &str) -> Option<&'a Value> {
    crd["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|c| c["type"] == ty)
}

/// A condition: type, status, reason, message.
pub(super) type Condition<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Sets a condition. Its transition time changes only with its status.
pub(super) fn set(crd: &mut Value, condition: Condition<'_>, now: &str) {
    let (ty, status, reason, message) = condition;
    let fresh = json!({
        "type": ty, "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
    });
    let conditions = &mut crd["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|c| c["type"] == ty) {
        None => conditions.push(fresh),
        Some(known) => {
            let since = known["lastTransitionTime"].clone();
            let same = known["status"] == status && !since.is_null();
            *known = fresh;
            if same {
                known["lastTransitionTime"] = since;
            }
        }
    }
}

/// The names that other CRDs of a group have.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) resources: Vec<String>,
    pub(super) kinds: Vec<String>,
}

impl Taken {
    pub(super) fn add(&mut self, names: &Names) {
        self.resources
            .extend([names.plural.clone(), names.singular.clone()]);
        self.resources.extend(names.short_names.iter().cloned());
        self.kinds
            .extend([names.kind.clone(), names.list_kind.clone()]);
    }
}

/// Accepts the requested names that are free. Returns whether anything changed.
pub(super) fn accept_names(crd: &mut Value, taken: &Taken, now: &str) -> bool {
    let requested = crd["spec"]["names"].clone();
    let accepted = crd["status"]["acceptedNames"].clone();
    if Names::read(&requested) == Names::read(&accepted) {
        return false;
    }
    let mut names = accepted.clone();
    let mut conflict: Option<(&str, String)> = None;
    let free = |name: &Value, own: &Value, taken: &[String]| {
        let name = name.as_str().unwrap_or_default();
        let used =
            Some(name) != own.as_str() && taken.iter().any(|t| t == name && !name.is_empty());
        (!used)
            .then_some(())
            .ok_or_else(|| format!("{} is already in use", go::quote(name)))
    };
    let checks = [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ];
    for (key, reason, taken) in checks {
        let result = if key == "shortNames" {
            short_names_are_free(&requested[key], &accepted[key], taken)
        } else {
            free(&requested[key], &accepted[key], taken)
        };
        match result {
            Ok(()) if requested[key].is_null() => {
                names.as_object_mut().map(|names| names.remove(key));
            }
            Ok(()) => names[key] = requested[key].clone(),
            Err(message) => conflict = Some((reason, message)),
        }
    }
    match &requested["categories"] {
        Value::Null => {
            names
                .as_object_mut()
                .map(|names| names.remove("categories"));
        }
        categories => names["categories"] = categories.clone(),
    }
    let before = crd["status"].clone();
    crd["status"]["acceptedNames"] = names;
    let (status, reason, message) = match &conflict {
        None => ("True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => ("False", *reason, message.as_str()),
    };
    set(crd, ("NamesAccepted", status, reason, message), now);
    if !is_true(crd, "Established") {
        let waiting = (
            "Established",
            "False",
            "Installing",
            "the initial names have been accepted",
        );
        let rejected = (
            "Established",
            "False",
            "NotAccepted",
            "not all names are accepted",
        );
        if conflict.is_none() {
            set(crd, waiting, now);
        } else if find(crd, "Established").is_none() {
            set(crd, rejected, now);
        }
    }
    crd["status"] != before
}

fn short_names_are_free(requested: &Value, own: &Value, taken: &[String]) -> Result<(), String> {
    let items = |names: &Value| -> Vec<String> {
        let names = names.as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let own = items(own);
    let used = items(requested)
        .into_iter()
        .filter(|n| !own.contains(n) && taken.contains(n));
    let texts: Vec<String> = used
        .map(|n| format!("{} is already in use", go::quote(&n)))
        .collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// Establishes a CRD whose names are accepted. Returns whether anything changed.
pub(super) fn establish(crd: &mut Value, ca_bundle_is_sound: bool, now: &str) -> bool {
    if !is_true(crd, "NamesAccepted") || is_true(crd, "Established") {
        return false;
    }
    let before = crd["status"].clone();
    let condition = if ca_bundle_is_sound {
        (
            "Established",
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        )
    } else {
        (
            "Established",
            "False",
            "InvalidCABundle",
            "The conversion webhook CABundle is invalid",
        )
    };
    set(crd, condition, now);
    crd["status"] != before
}

/// Sets the condition of a CRD in a protected group that reports its approval. Returns whether anything changed.
pub(super) fn approve(crd: &mut Value, now: &str) -> bool {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    if !kubewright_builtins::apiextensions::is_protected_group(group) {
        return false;
    }
    let annotation = crd["metadata"]["annotations"][APPROVED]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let (state, message) = kubewright_builtins::apiextensions::approval(&annotation);
    let before = crd["status"].clone();
    let ty = "KubernetesAPIApprovalPolicyConformant";
    use kubewright_builtins::apiextensions::Approval;
    let (status, reason) = match state {
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    set(crd, (ty, status, reason, &message), now);
    crd["status"] != before
}

/// Sets the condition that deletion of the objects has been requested.
pub(super) const DELETION_PENDING: Condition<'static> = (
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
);

/// Sets the condition that deletion of the objects is in progress.
pub(super) const DELETION_IN_PROGRESS: Condition<'static> = (
    "Terminating",
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
);
