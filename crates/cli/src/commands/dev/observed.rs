//! What can be seen of a running operator: what its controllers say of themselves, and the events about its objects.

use std::{collections::HashMap, pin::pin, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, Client,
    api::{ListParams, WatchEvent, WatchParams},
};
use tokio::sync::watch;

use super::{happening::Happening, screen::Screen};
use crate::commands::endpoint::{self, Controllers, KeyStatus};

/// How often controllers are asked.
const EVERY: Duration = Duration::from_millis(200);

/// A pause before a watch is begun anew.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows what the controllers do, for as long as it is polled. The address changes with the operator.
pub(super) async fn reconciles(address: watch::Receiver<Option<String>>, screen: Screen) {
    let mut known: HashMap<(String, String), String> = HashMap::new();
    let mut of = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let now = address.borrow().clone();
        if now != of {
            known.clear();
            of.clone_from(&now);
        }
        let Some(now) = now else {
            continue;
        };
        // Between two operators nobody answers.
        if let Ok(controllers) = endpoint::controllers(&now).await {
            for happening in news(&controllers, &mut known) {
                screen.tell(happening);
            }
            screen.controllers(controllers);
        }
    }
}

/// The keys that have run since they were last looked at.
fn news(
    controllers: &Controllers,
    known: &mut HashMap<(String, String), String>,
) -> Vec<Happening> {
    let mut ran: Vec<(String, Happening)> = Vec::new();
    for controller in &controllers.controllers {
        for key in &controller.keys {
            let Some(end) = &key.last_end else {
                continue;
            };
            let place = (controller.name.clone(), key.key.clone());
            if known.insert(place, end.clone()).as_ref() != Some(end) {
                ran.push((end.clone(), reconcile(&controller.name, key)));
            }
        }
    }
    ran.sort_by(|(a, _), (b, _)| a.cmp(b));
    ran.into_iter().map(|(_, happening)| happening).collect()
}

fn reconcile(controller: &str, key: &KeyStatus) -> Happening {
    let trigger = key.last_trigger.as_ref();
    Happening::Reconcile {
        controller: controller.to_owned(),
        key: key.key.clone(),
        trigger: trigger.map(|trigger| trigger.words()).unwrap_or_default(),
        result: key.last_result.clone().unwrap_or_default(),
        seconds: key.duration_seconds.unwrap_or_default(),
        failed: key.failed(),
    }
}

/// Shows the events about objects of these groups, for as long as it is polled.
pub(super) async fn events(client: Client, groups: Vec<String>, screen: Screen) {
    let api: Api<Event> = Api::all(client);
    loop {
        // What was recorded before is not news. What fails is tried again.
        if let Ok(list) = api.list(&ListParams::default().limit(1)).await {
            let from = list.metadata.resource_version.unwrap_or_default();
            if let Ok(stream) = api.watch(&WatchParams::default(), &from).await {
                let mut stream = pin!(stream);
                while let Some(Ok(event)) = stream.next().await {
                    if let WatchEvent::Added(event) | WatchEvent::Modified(event) = event
                        && let Some(happening) = happening(&event, &groups)
                    {
                        screen.tell(happening);
                    }
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn happening(event: &Event, groups: &[String]) -> Option<Happening> {
    let about = event.regarding.as_ref()?;
    let version = about.api_version.as_deref().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    groups.iter().any(|ours| ours == group).then(|| {
        let kind = about.kind.as_deref().unwrap_or_default().to_lowercase();
        Happening::Event {
            warning: event.type_.as_deref() == Some("Warning"),
            object: format!("{kind}/{}", about.name.as_deref().unwrap_or_default()),
            reason: event.reason.clone().unwrap_or_default(),
            note: event.note.clone().unwrap_or_default(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::endpoint::ControllerStatus;

    #[test]
    fn a_key_is_news_once_for_each_run() {
        let key = |end: &str| KeyStatus {
            key: "default/a".into(),
            last_end: Some(end.into()),
            last_result: Some("done".into()),
            ..KeyStatus::default()
        };
        let controllers = |keys| Controllers {
            controllers: vec![ControllerStatus {
                name: "captain".into(),
                keys,
                ..ControllerStatus::default()
            }],
            ..Controllers::default()
        };
        let mut known = HashMap::new();
        assert_eq!(news(&controllers(vec![key("1")]), &mut known).len(), 1);
        assert_eq!(news(&controllers(vec![key("1")]), &mut known).len(), 0);
        assert_eq!(news(&controllers(vec![key("2")]), &mut known).len(), 1);
    }
}
