//! The pods of a target.

use std::sync::Arc;

use k8s_openapi::api::{autoscaling::v2::HorizontalPodAutoscaler, core::v1::Pod};
use kube::ResourceExt;
use kubewright_controller::Filter;
use kubewright_informer::Key;
use kubewright_machinery::labels::LabelSelector;

use super::{
    status::{SCALING_ACTIVE, set},
    sync::Pass,
};

impl Pass<'_> {
    /// Returns the pods of the target. They must belong to this autoscaler alone.
    pub(super) async fn pods_of(
        &self,
        autoscaler: &mut HorizontalPodAutoscaler,
        selector: &str,
    ) -> Result<Vec<Arc<Pod>>, String> {
        let mut refuse = |reason: &str, event: &str, error: String, message: String| {
            self.warn(autoscaler, event, &error);
            set(autoscaler, SCALING_ACTIVE, false, reason, message, self.now);
            Err(error)
        };
        if selector.is_empty() {
            let message = "the HPA target's scale is missing a selector".to_owned();
            let error = "selector is required".to_owned();
            return refuse("InvalidSelector", "SelectorRequired", error, message);
        }
        let parsed = match LabelSelector::parse(selector) {
            Ok(parsed) => parsed,
            Err(error) => {
                let error = format!(
                    "couldn't convert selector into a corresponding internal selector object: {error}"
                );
                return refuse("InvalidSelector", "InvalidSelector", error.clone(), error);
            }
        };
        let filter = Filter::new().namespace(self.namespace);
        let all = self.context.client().list::<Pod>(&filter).await;
        let mut pods = all.map_err(|error| error.to_string())?;
        let matches = |selector: &LabelSelector, pod: &Pod| {
            let labels = pod.labels();
            selector.matches(|name| labels.get(name).map(String::as_str))
        };
        pods.retain(|pod| matches(&parsed, pod));
        self.remember(|known| selector.clone_into(&mut known.selector));
        let others: Vec<(Key, String)> = {
            let known = self.context.state().known.lock();
            let here = known.iter().filter(|(key, known)| {
                key.namespace() == Some(self.namespace) && !known.selector.is_empty()
            });
            here.map(|(key, known)| (key.clone(), known.selector.clone()))
                .collect()
        };
        let mut users: Vec<String> = others
            .into_iter()
            .filter(|(_, selector)| {
                let selector = LabelSelector::parse(selector);
                selector.is_ok_and(|selector| pods.iter().any(|pod| matches(&selector, pod)))
            })
            .map(|(key, _)| key.to_string())
            .collect();
        users.sort_unstable();
        if users.len() > 1 {
            let error = format!(
                "pods by selector {selector} are controlled by multiple HPAs: [{}]",
                users.join(" ")
            );
            return refuse(
                "AmbiguousSelector",
                "AmbiguousSelector",
                error.clone(),
                error,
            );
        }
        Ok(pods)
    }
}
