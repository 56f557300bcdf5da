//! The number of replicas that the metrics of an autoscaler ask for.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::{
    autoscaling::v2::{HorizontalPodAutoscaler, MetricSpec, MetricTarget},
    core::v1::Pod,
};
use kubewright_client::DiscoveryRestMapper;
use kubewright_machinery::{
    labels::LabelSelector,
    quantity::{Format, Quantity},
};
use serde_json::{Value, json};

use super::{
    metrics::Metrics,
    pods::requests,
    replicas::{Answer, Scene, Target, Tolerances},
};

/// A number of replicas that a metric asks for.
#[derive(Debug)]
pub(super) struct Proposal {
    pub(super) replicas: i32,
    /// The name of the metric in events.
    pub(super) metric: String,
    /// The value of the metric, for the status.
    pub(super) status: Value,
}

/// A metric that says nothing: the reason of the condition, and the messages of event and result.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) told: String,
}

/// The inputs of a computation.
pub(super) struct Inputs<'a> {
    pub(super) autoscaler: &'a HorizontalPodAutoscaler,
    pub(super) metrics: Metrics<'a>,
    pub(super) mapper: &'a DiscoveryRestMapper,
    pub(super) selector: &'a str,
    pub(super) pods: &'a [Arc<Pod>],
    pub(super) spec_replicas: i32,
    pub(super) status_replicas: i32,
    pub(super) now: Timestamp,
}

impl Inputs<'_> {
    /// Returns the number of replicas that a metric asks for.
    pub(super) async fn propose(&self, spec: &MetricSpec) -> Result<Proposal, Failed> {
        let fail = |reason, what: String| {
            move |message: String| Failed {
                reason,
                told: format!("failed to get {what} metric value: {message}"),
                message,
            }
        };
        match spec.type_.as_str() {
            "Resource" => {
                let name = spec
                    .resource
                    .as_ref()
                    .map(|of| of.name.clone())
                    .unwrap_or_default();
                let proposal = self.of_resource(spec).await;
                proposal.map_err(fail("FailedGetResourceMetric", format!("{name} resource")))
            }
            "ContainerResource" => {
                let of = spec.container_resource.as_ref();
                let name = of.map(|of| of.container.clone()).unwrap_or_default();
                let proposal = self.of_resource(spec).await;
                proposal.map_err(fail(
                    "FailedGetContainerResourceMetric",
                    format!("{name} container"),
                ))
            }
            "Pods" => self
                .of_pods(spec)
                .await
                .map_err(fail("FailedGetPodsMetric", "pods".to_owned())),
            "Object" => self
                .of_object(spec)
                .await
                .map_err(fail("FailedGetObjectMetric", "object".to_owned())),
            "External" => {
                let of = spec.external.as_ref();
                let name = of.map(|of| of.metric.name.clone()).unwrap_or_default();
                let proposal = self.external(spec).await;
                proposal.map_err(fail("FailedGetExternalMetric", format!("{name} external")))
            }
            other => {
                let message = format!("unknown metric source type {other:?}");
                Err(Failed {
                    reason: "InvalidMetricSourceType",
                    told: message.clone(),
                    message,
                })
            }
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            current: self.spec_replicas,
            pods: self.pods,
            tolerances: tolerances(self.autoscaler),
            now: self.now,
        }
    }

    async fn of_resource(&self, spec: &MetricSpec) -> Result<Proposal, String> {
        let (name, container, target) = match (&spec.resource, &spec.container_resource) {
            (Some(of), _) => (&of.name, None, &of.target),
            (None, Some(of)) => (&of.name, Some(of.container.as_str()), &of.target),
            (None, None) => return Err("no resource".to_owned()),
        };
        let what = match target.average_value {
            Some(_) => "usage",
            None => "utilization",
        };
        let answer = self.resource(name, container, target).await;
        let answer = answer.map_err(|error| format!("failed to get {name} {what}: {error}"))?;
        let format = match name.as_str() {
            "memory" => Format::BinarySi,
            _ => Format::DecimalSi,
        };
        let average = Quantity::new_milli(answer.average, format).canonical();
        let mut current = json!({"averageValue": average});
        if let Some(utilization) = answer.utilization {
            current["averageUtilization"] = json!(utilization);
        }
        let (metric, status) = match container {
            None => (
                "resource",
                json!({"type": "Resource", "resource": {"name": name, "current": current}}),
            ),
            Some(container) => (
                "container resource",
                json!({"type": "ContainerResource", "containerResource": {
                    "name": name, "container": container, "current": current,
                }}),
            ),
        };
        let metric = match answer.utilization {
            Some(_) => format!("{name} {metric} utilization (percentage of request)"),
            None => format!("{name} resource"),
        };
        Ok(Proposal {
            replicas: answer.replicas,
            metric,
            status,
        })
    }

    async fn resource(
        &self,
        name: &str,
        container: Option<&str>,
        target: &MetricTarget,
    ) -> Result<Answer, String> {
        let average = milli(target.average_value.as_ref());
        if average.is_none() && target.average_utilization.is_none() {
            return Err("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set".to_owned());
        }
        let samples = self
            .metrics
            .of_resource(name, self.selector, container)
            .await;
        let samples = samples
            .map_err(|error| format!("unable to get metrics for resource {name}: {error}"))?;
        let (scene, is_cpu) = (self.scene(), name == "cpu");
        match (average, target.average_utilization) {
            (Some(average), _) => scene.for_pods(samples, &Target::Average(average), is_cpu),
            (None, utilization) => {
                let requests = requests(self.pods, name, container)?;
                let target = Target::Utilization(utilization.unwrap_or(100), &requests);
                scene.for_pods(samples, &target, is_cpu)
            }
        }
    }

    async fn of_pods(&self, spec: &MetricSpec) -> Result<Proposal, String> {
        let of = spec.pods.as_ref().ok_or("no metric")?;
        let name = &of.metric.name;
        let target = milli(of.target.average_value.as_ref()).ok_or("no average value")?;
        let selected = text_of(&of.metric.selector);
        let samples = self.metrics.of_pods(name, self.selector, &selected).await;
        let samples = samples.map_err(|error| format!("unable to get metric {name}: {error}"))?;
        let answer = self
            .scene()
            .for_pods(samples, &Target::Average(target), false)?;
        let average = Quantity::new_milli(answer.average, Format::DecimalSi).canonical();
        Ok(Proposal {
            replicas: answer.replicas,
            metric: format!("pods metric {name}"),
            status: json!({"type": "Pods", "pods": {
                "metric": of.metric, "current": {"averageValue": average},
            }}),
        })
    }

    async fn of_object(&self, spec: &MetricSpec) -> Result<Proposal, String> {
        let of = spec.object.as_ref().ok_or("no metric")?;
        let (name, object) = (&of.metric.name, &of.described_object);
        let api_version = object.api_version.as_deref().unwrap_or("v1");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = kubewright_machinery::gvk::GroupKind::new(group, &object.kind);
        let mapping = self
            .mapper
            .mapping(&kind, &[])
            .await
            .map_err(|error| error.to_string())?;
        let resource = match group {
            "" => mapping.resource.resource.clone(),
            group => format!("{}.{group}", mapping.resource.resource),
        };
        let selected = text_of(&of.metric.selector);
        let value = self
            .metrics
            .of_object(&resource, &object.name, name, &selected)
            .await;
        let value = value.map_err(|error| {
            let namespace = self.metrics.namespace;
            format!(
                "unable to get metric {name}: {} on {namespace} {}/{error}",
                object.kind, object.name
            )
        })?;
        let told = format!("{} metric {name}", object.kind);
        let (replicas, current, metric) =
            self.of_value(&of.target, value, told, format!("external metric {name}"))?;
        Ok(Proposal {
            replicas,
            metric,
            status: json!({"type": "Object", "object": {
                "describedObject": object, "metric": of.metric, "current": current,
            }}),
        })
    }

    async fn external(&self, spec: &MetricSpec) -> Result<Proposal, String> {
        let of = spec.external.as_ref().ok_or("no metric")?;
        let name = &of.metric.name;
        let value = self
            .metrics
            .external(name, &text_of(&of.metric.selector))
            .await;
        let value = value.map_err(|error| {
            format!("failed to get external metric {name}: unable to get external metric {}/{name}: {error}", self.metrics.namespace)
        })?;
        let told = format!("external metric {name}");
        let (replicas, current, metric) = self.of_value(&of.target, value, told.clone(), told)?;
        Ok(Proposal {
            replicas,
            metric,
            status: json!({"type": "External", "external": {
                "metric": of.metric, "current": current,
            }}),
        })
    }

    /// Returns the number of replicas for one value of all pods, the value for the status, and the name of the metric.
    fn of_value(
        &self,
        target: &MetricTarget,
        value: i64,
        of_all: String,
        of_each: String,
    ) -> Result<(i32, Value, String), String> {
        let text = |value| Quantity::new_milli(value, Format::DecimalSi).canonical();
        if let Some(average) = milli(target.average_value.as_ref()) {
            let (replicas, share) = self.scene().for_share(value, average, self.status_replicas);
            return Ok((replicas, json!({"averageValue": text(share)}), of_each));
        }
        let Some(wanted) = milli(target.value.as_ref()) else {
            return Err(
                "invalid metric source: neither a value target nor an average value target was set"
                    .to_owned(),
            );
        };
        let replicas = self.scene().for_value(value, wanted)?;
        Ok((replicas, json!({"value": text(value)}), of_all))
    }
}

/// Returns a quantity in thousandths.
fn milli(
    quantity: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
) -> Option<i64> {
    Some(Quantity::parse(&quantity?.0).ok()?.milli_value())
}

/// Returns a label selector as text.
fn text_of(
    selector: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector>,
) -> String {
    match selector {
        Some(selector) => LabelSelector::format_label_selector(&json!(selector)),
        None => String::new(),
    }
}

fn tolerances(autoscaler: &HorizontalPodAutoscaler) -> Tolerances {
    let behavior = autoscaler.spec.behavior.as_ref();
    let own = |rules: Option<&k8s_openapi::api::autoscaling::v2::HPAScalingRules>| {
        let tolerance = rules.and_then(|rules| rules.tolerance.as_ref());
        tolerance.and_then(|text| Some(Quantity::parse(&text.0).ok()?.as_f64()))
    };
    let default = Tolerances::default();
    Tolerances {
        up: own(behavior.and_then(|b| b.scale_up.as_ref())).unwrap_or(default.up),
        down: own(behavior.and_then(|b| b.scale_down.as_ref())).unwrap_or(default.down),
    }
}
