//! Values from the APIs of metrics: `metrics.k8s.io`, `custom.metrics.k8s.io` and `external.metrics.k8s.io`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kube::{api::ListParams, core::Request};
use kubewright_client::ErrorExt;
use kubewright_machinery::{json::Read, quantity::Quantity, time::parse_duration};
use serde_json::Value;

/// The value of a pod, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) value: i64,
    pub(super) at: Timestamp,
    pub(super) window: SignedDuration,
}

/// Values of pods by name.
pub(super) type Samples = BTreeMap<String, Sample>;

/// The versions of the API of custom metrics, and the names that they have for a metric.
const CUSTOM: [&str; 2] = ["v1beta2", "v1beta1"];

/// The default window of a custom metric.
const DEFAULT_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// Reads metrics for one namespace.
pub(super) struct Metrics<'a> {
    pub(super) client: kube::Client,
    pub(super) namespace: &'a str,
}

impl Metrics<'_> {
    /// Returns the usage of a resource by the pods that a selector matches, or by one container of each.
    pub(super) async fn of_resource(
        &self,
        resource: &str,
        selector: &str,
        container: Option<&str>,
    ) -> Result<Samples, String> {
        let path = format!(
            "/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods",
            self.namespace
        );
        let list = self.get(&path, selector, "").await.map_err(|error| {
            let error = error.told("get pods.metrics.k8s.io");
            format!("unable to fetch metrics from resource metrics API: {error}")
        })?;
        let items = list["items"].items();
        if items.is_empty() {
            return Err("no metrics returned from resource metrics API".to_owned());
        }
        let usage = |item: &Value| -> Option<i64> {
            let containers = item["containers"].items();
            let chosen = containers
                .iter()
                .filter(|known| container.is_none_or(|name| known["name"] == name));
            let used: Option<Vec<i64>> = chosen
                .map(|known| Some(quantity(&known["usage"][resource])?.milli_value()))
                .collect();
            let used = used.filter(|used| !used.is_empty())?;
            Some(used.into_iter().fold(0, i64::saturating_add))
        };
        let sample = |item: &Value| {
            let window = parse_duration(item["window"].text()).unwrap_or(0);
            Some((
                item["metadata"]["name"].text().to_owned(),
                Sample {
                    value: usage(item)?,
                    at: time(&item["timestamp"]),
                    window: SignedDuration::from_nanos(window),
                },
            ))
        };
        Ok(items.iter().filter_map(sample).collect())
    }

    /// Returns the values of a metric of pods.
    pub(super) async fn of_pods(
        &self,
        metric: &str,
        selector: &str,
        metric_selector: &str,
    ) -> Result<Samples, String> {
        let target = format!("pods/*/{metric}");
        let list = self.custom(&target, selector, metric_selector).await;
        let list = list.map_err(|error| {
            format!(
                "unable to fetch metrics from custom metrics API: {}",
                error.told("get custom.metrics.k8s.io")
            )
        })?;
        let items = list["items"].items();
        if items.is_empty() {
            return Err("no metrics returned from custom metrics API".to_owned());
        }
        let sample = |item: &Value| {
            let window = item["windowSeconds"]
                .as_i64()
                .map(SignedDuration::from_secs);
            Some((
                item["describedObject"]["name"].text().to_owned(),
                Sample {
                    value: quantity(&item["value"])?.milli_value(),
                    at: time(&item["timestamp"]),
                    window: window.unwrap_or(DEFAULT_WINDOW),
                },
            ))
        };
        Ok(items.iter().filter_map(sample).collect())
    }

    /// Returns the value of a metric of an object, in thousandths. `resource` is its plural name with its group.
    pub(super) async fn of_object(
        &self,
        resource: &str,
        name: &str,
        metric: &str,
        metric_selector: &str,
    ) -> Result<i64, String> {
        let target = format!("{resource}/{name}/{metric}");
        let list = self.custom(&target, "", metric_selector).await;
        let list = list.map_err(|error| {
            format!(
                "unable to fetch metrics from custom metrics API: {}",
                error.told("get custom.metrics.k8s.io")
            )
        })?;
        let value = list["items"].items().first();
        let value = value.and_then(|item| quantity(&item["value"]));
        let missing = || "no metrics returned from custom metrics API".to_owned();
        Ok(value.ok_or_else(missing)?.milli_value())
    }

    /// Returns the sum of the values of an external metric, in thousandths.
    pub(super) async fn external(&self, metric: &str, selector: &str) -> Result<i64, String> {
        let path = format!(
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{metric}",
            self.namespace
        );
        let list = self.get(&path, selector, "").await.map_err(|error| {
            let error = error.told(&format!("get {metric}.external.metrics.k8s.io"));
            format!("unable to fetch metrics from external metrics API: {error}")
        })?;
        let values = list["items"].items().iter();
        let values: Vec<i64> = values
            .filter_map(|item| Some(quantity(&item["value"])?.milli_value()))
            .collect();
        match values.is_empty() {
            true => Err("no metrics returned from external metrics API".to_owned()),
            false => Ok(values.into_iter().fold(0, i64::saturating_add)),
        }
    }

    async fn custom(
        &self,
        target: &str,
        selector: &str,
        metric_selector: &str,
    ) -> Result<Value, Failure> {
        let mut failed = Failure::NotServed;
        for version in CUSTOM {
            let path = format!(
                "/apis/custom.metrics.k8s.io/{version}/namespaces/{}/{target}",
                self.namespace
            );
            match self.get(&path, selector, metric_selector).await {
                Err(Failure::NotServed) => failed = Failure::NotServed,
                answer => return answer,
            }
        }
        Err(failed)
    }

    async fn get(
        &self,
        path: &str,
        selector: &str,
        metric_selector: &str,
    ) -> Result<Value, Failure> {
        let request = |path: &str, selector: &str| {
            let mut params = ListParams::default();
            if !selector.is_empty() {
                params = params.labels(selector);
            }
            let request = Request::new(path).list(&params);
            request.map_err(|error| Failure::Told(error.to_string()))
        };
        let mut asked = request(path, selector)?;
        if !metric_selector.is_empty() {
            // The other selector is encoded in the same way, under another name.
            let other = request("", metric_selector)?;
            let query = other.uri().query().unwrap_or_default();
            let query =
                query
                    .trim_start_matches('&')
                    .replacen("labelSelector", "metricLabelSelector", 1);
            let joined = format!("{}&{query}", asked.uri());
            let joined = joined
                .parse()
                .map_err(|error| Failure::Told(format!("{error}")))?;
            *asked.uri_mut() = joined;
        }
        match self.client.request::<Value>(asked).await {
            Err(error) if error.is_not_found() => Err(Failure::NotServed),
            Err(error) => Err(Failure::Told(match error.api_status() {
                Some(status) => status.message.clone(),
                None => error.to_string(),
            })),
            Ok(value) => Ok(value),
        }
    }
}

/// An answer without values.
enum Failure {
    NotServed,
    Told(String),
}

impl Failure {
    /// Returns the text of client-go.
    fn told(self, what: &str) -> String {
        match self {
            Self::NotServed => {
                format!("the server could not find the requested resource ({what})")
            }
            Self::Told(text) => text,
        }
    }
}

fn quantity(value: &Value) -> Option<Quantity> {
    kubewright_builtins::usage::resource_list::quantity(value)
}

fn time(value: &Value) -> Timestamp {
    value.text().parse().unwrap_or(Timestamp::UNIX_EPOCH)
}
