//! The files of the pages in `web/`, which are embedded, and compressed on first use.

use std::{io::Write, path::Path, sync::LazyLock};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::answer::{self, Body};

/// A file of the pages.
#[derive(Clone, Debug)]
pub struct Asset {
    /// The path in its URL, such as `/app/main.js`.
    pub path: &'static str,
    /// The content.
    pub content: &'static [u8],
    /// The content, compressed with gzip.
    pub gzip: Bytes,
    /// The media type.
    pub media_type: &'static str,
}

macro_rules! embedded {
    ($($file:literal)*) => {
        [$((concat!("/app/", $file), include_bytes!(concat!("../web/", $file)).as_slice())),*]
    };
}

/// The page that is served at all addresses of the console; its script evaluates the address.
const INDEX: &str = "/app/index.html";

static EMBEDDED: [(&str, &[u8]); 47] = embedded!(
    "api.js"
    "dialog.js"
    "diff.js"
    "fields.js"
    "health.js"
    "icon.svg"
    "index.html"
    "keys.js"
    "kinds.js"
    "later.js"
    "layout.js"
    "main.js"
    "pages/actions.js"
    "pages/apply.js"
    "pages/controllers.js"
    "pages/diffview.js"
    "pages/edit.js"
    "pages/history.js"
    "pages/lab.js"
    "pages/metrics.js"
    "pages/object.js"
    "pages/objects.js"
    "pages/overview.js"
    "pages/ownership.js"
    "pages/perturb.js"
    "pages/requests.js"
    "pages/run.js"
    "pages/runs.js"
    "pages/timeline.js"
    "pages/tree.js"
    "pages/yaml.js"
    "parts.js"
    "recorded.js"
    "route.js"
    "stream.js"
    "style.css"
    "theme.js"
    "time.js"
    "token.js"
    "ui.js"
    "vendor/hooks.mjs"
    "vendor/htm.mjs"
    "vendor/preact.mjs"
    "vendor/signals-core.mjs"
    "vendor/signals.mjs"
    "window.js"
    "yaml.js"
);

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let assets = EMBEDDED.iter().map(|&(path, content)| Asset {
        path,
        content,
        gzip: compressed(content),
        media_type: media_type(path),
    });
    assets.collect()
});

/// Returns all files of the pages.
pub fn assets() -> &'static [Asset] {
    &ASSETS
}

/// Returns the file at a path, or the page that evaluates the address.
pub(crate) fn page(path: &str, headers: &HeaderMap, directory: Option<&Path>) -> Response<Body> {
    let wanted = match path.starts_with("/app/") {
        true => path,
        // The icon, which browsers request on their own.
        false if path == "/favicon.ico" => "/app/icon.svg",
        false => INDEX,
    };
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == wanted) else {
        return answer::failure(StatusCode::NOT_FOUND, "NotFound", "there is no such file");
    };
    // Only files whose names are embedded are read.
    let read = directory
        .map(|directory| std::fs::read(directory.join(asset.path.trim_start_matches("/app/"))));
    let gzip = headers.get(header::ACCEPT_ENCODING);
    let gzip = gzip.is_some_and(|it| it.to_str().is_ok_and(|it| it.contains("gzip")));
    let gzip = gzip && directory.is_none();
    let body = match read {
        Some(Ok(content)) => Bytes::from(content),
        Some(Err(error)) => {
            return answer::failure(StatusCode::NOT_FOUND, "NotFound", &error.to_string());
        }
        None if gzip => asset.gzip.clone(),
        None => Bytes::from_static(asset.content),
    };
    let mut response = Response::new(answer::full(body));
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_static(asset.media_type);
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn compressed(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.unwrap_or_default().into()
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
