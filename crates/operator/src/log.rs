//! The log of an operator: lines for people, or JSON with the keys of controller-runtime.
//!
//! In JSON, the fields of the reconcile (`controller`, `namespace`, `name`, `reconcileID`, ...) are at the top level, as in
//! controller-runtime.

use std::fmt;

use kubewright_controller::{flags::LogFormat, note_log_line};
use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    fmt::{
        FmtContext, FormatEvent, FormattedFields, MakeWriter,
        format::{JsonFields, Writer},
        time::{FormatTime, SystemTime},
    },
    layer::Context,
    registry::LookupSpan,
};

/// Writes log lines in a format, with ANSI codes only if they are coloured.
pub(crate) fn log_lines<S>(
    writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static,
    format: LogFormat,
    coloured: bool,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Text => lines.with_ansi(coloured).boxed(),
        LogFormat::Json => lines
            .with_ansi(false)
            .fmt_fields(JsonFields::new())
            .event_format(Json)
            .boxed(),
    }
}

/// Adds the log lines of reconciles to the record of their run, which `kubewright why` and the console show.
pub(crate) struct RunLines;

impl<S: Subscriber> Layer<S> for RunLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = Map::new();
        event.record(&mut Fields(&mut fields));
        let message = match fields.remove("msg") {
            Some(Value::String(message)) => message,
            _ => String::new(),
        };
        note_log_line(
            metadata.level().as_str(),
            metadata.target(),
            &message,
            || fields,
        );
    }
}

/// One JSON document per line: `{"level":"error","ts":"...","logger":"...","msg":"...","controller":"captain",...}`.
struct Json;

impl<S> FormatEvent<S, JsonFields> for Json
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let metadata = event.metadata();
        let level = metadata.level().as_str().to_ascii_lowercase();
        let mut line = Map::new();
        line.insert("level".to_owned(), level.into());
        line.insert("ts".to_owned(), time.into());
        line.insert("logger".to_owned(), metadata.target().into());
        for span in context
            .event_scope()
            .into_iter()
            .flat_map(|all| all.from_root())
        {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<JsonFields>>();
            let fields = fields.and_then(|fields| serde_json::from_str::<Map<_, _>>(fields).ok());
            line.extend(fields.unwrap_or_default());
        }
        event.record(&mut Fields(&mut line));
        if let Some((kind, object)) = object(&line) {
            line.insert(kind, object);
        }
        let text = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
        writeln!(writer, "{text}")
    }
}

/// Returns the object of a reconcile under its kind, as controller-runtime logs it: `"Captain":{"name":"ahab","namespace":"default"}`.
fn object(line: &Map<String, Value>) -> Option<(String, Value)> {
    let kind = line.get("controllerKind")?.as_str()?;
    let mut object = Map::new();
    object.insert("name".to_owned(), line.get("name")?.clone());
    if let Some(namespace) = line.get("namespace") {
        object.insert("namespace".to_owned(), namespace.clone());
    }
    Some((kind.to_owned(), object.into()))
}

/// Collects the fields of an event.
struct Fields<'a>(&'a mut Map<String, Value>);

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        let key = match field.name() {
            "message" => "msg",
            name => name.strip_prefix("r#").unwrap_or(name),
        };
        self.0.insert(key.to_owned(), value.into());
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Collects the output.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, coloured: bool) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let lines = log_lines(move || writer.clone(), format, coloured);
        // With only one subscriber, a thread of another test without one could cache that nothing is interested in the event.
        let _second = tracing::Dispatch::new(tracing_subscriber::registry());
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!(
                "reconcile",
                controller = "captain",
                controllerGroup = "crew.example.com",
                controllerKind = "Captain",
                namespace = "default",
                name = "ahab",
                reconcileID = "7",
            );
            span.in_scope(|| tracing::error!(error = %"no room", attempt = 2, "reconcile failed"));
        });
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_log_has_colours_on_a_terminal_only() {
        let text = logged(LogFormat::Text, false);
        assert!(
            text.contains("ERROR reconcile{controller=\"captain\""),
            "{text}"
        );
        assert!(!text.contains('\x1b'), "{text:?}");
        assert!(logged(LogFormat::Text, true).contains('\x1b'));
        assert!(!logged(LogFormat::Json, true).contains('\x1b'));
    }

    #[test]
    fn json_has_the_keys_of_controller_runtime_at_the_top_level() {
        let text = logged(LogFormat::Json, false);
        let line: Value = serde_json::from_str(&text).unwrap();
        for (key, value) in [
            ("level", "error"),
            ("msg", "reconcile failed"),
            ("error", "no room"),
            ("controller", "captain"),
            ("controllerGroup", "crew.example.com"),
            ("controllerKind", "Captain"),
            ("namespace", "default"),
            ("name", "ahab"),
            ("reconcileID", "7"),
        ] {
            assert_eq!(line[key], value, "{key} in {text}");
        }
        assert_eq!(line["attempt"], 2);
        let object = serde_json::json!({"name": "ahab", "namespace": "default"});
        assert_eq!(line["Captain"], object);
        assert!(
            line["ts"].is_string() && line["logger"].is_string(),
            "{text}"
        );
        assert_eq!(text.matches("\"reconcileID\"").count(), 1, "{text}");
    }
}
