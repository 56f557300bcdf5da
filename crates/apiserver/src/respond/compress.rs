//! Gzip for large answers.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;

use super::negotiate::Media;
use crate::body::{Body, BoxError};

/// Answers up to this size are sent as they are.
const THRESHOLD: usize = 128 * 1024;
/// The number of bytes compressed before other requests get their turn.
const PIECE: usize = 64 * 1024;

/// Reports whether the client accepts gzip. As in kube-apiserver, a quality (`gzip;q=1`) is not understood.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(',').any(|token| token.trim() == "gzip"))
}

/// Compresses an answer of more than 128 KiB that holds objects. A streamed answer stays a stream: only its first 128 KiB
/// are held back to learn its size.
pub(crate) async fn compress(response: Response<Body>) -> Response<Body> {
    let known = response.body().size_hint().exact();
    let small = known.is_some_and(|size| size <= THRESHOLD as u64);
    if small || !holds_objects(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let (start, rest) = Start::read(body).await;
    let Some(rest) = rest else {
        return Response::from_parts(head, start.whole());
    };
    let headers = &mut head.headers;
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, gzip(start, rest))
}

/// Reports whether a response has an encoding of objects and is not compressed already.
fn holds_objects(headers: &HeaderMap) -> bool {
    let media = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .and_then(|name| Media::from_name(name.trim()));
    media.is_some() && !headers.contains_key(header::CONTENT_ENCODING)
}

/// The chunks of a body up to the threshold.
struct Start {
    chunks: Vec<Bytes>,
    failure: Option<BoxError>,
}

impl Start {
    /// Reads until there is more than the threshold. The rest is `None` where the body ended before that.
    async fn read(mut body: Body) -> (Self, Option<Body>) {
        let mut start = Self {
            chunks: Vec::new(),
            failure: None,
        };
        let mut size = 0;
        while size <= THRESHOLD {
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        size += data.len();
                        start.chunks.push(data);
                    }
                }
                Some(Err(e)) => {
                    start.failure = Some(e);
                    return (start, None);
                }
                None => return (start, None),
            }
        }
        (start, Some(body))
    }

    /// A body of these chunks alone.
    fn whole(self) -> Body {
        match self.failure {
            None => Bytes::from(self.chunks.concat()).into(),
            Some(failure) => {
                let chunks = self.chunks.into_iter().map(Ok);
                Body::stream(stream::iter(chunks.chain([Err(failure)])))
            }
        }
    }
}

fn gzip(start: Start, rest: Body) -> Body {
    let gzip = Gzip {
        // The real server's level: the fastest.
        encoder: GzEncoder::new(Vec::new(), Compression::fast()),
        chunks: start.chunks.into_iter(),
        piece: Bytes::new(),
        rest,
    };
    Body::stream(stream::unfold(Some(gzip), |gzip| async move {
        match gzip?.next().await {
            Ok((bytes, rest)) => Some((Ok(bytes), rest)),
            Err(e) => Some((Err(e), None)),
        }
    }))
}

/// A body being compressed.
struct Gzip {
    encoder: GzEncoder<Vec<u8>>,
    chunks: std::vec::IntoIter<Bytes>,
    /// The part of the current chunk that is not compressed yet.
    piece: Bytes,
    rest: Body,
}

impl Gzip {
    /// The next compressed bytes, and the body after them, if there is more.
    async fn next(mut self) -> Result<(Bytes, Option<Self>), BoxError> {
        loop {
            while self.piece.is_empty() {
                match self.chunk().await? {
                    Some(chunk) => self.piece = chunk,
                    None => return Ok((self.encoder.finish()?.into(), None)),
                }
            }
            let piece = self.piece.split_to(self.piece.len().min(PIECE));
            self.encoder.write_all(&piece)?;
            let out = std::mem::take(self.encoder.get_mut());
            tokio::task::yield_now().await;
            if !out.is_empty() {
                return Ok((out.into(), Some(self)));
            }
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, BoxError> {
        if let Some(chunk) = self.chunks.next() {
            return Ok(Some(chunk));
        }
        loop {
            match self.rest.frame().await {
                None => return Ok(None),
                Some(Err(e)) => return Err(e),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn answer(body: Body) -> Response<Body> {
        crate::respond::encode::response(200, "application/json", body)
    }

    async fn read(response: Response<Body>) -> (HeaderMap, Vec<u8>) {
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (head.headers, bytes.to_vec())
    }

    fn unzipped(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes)
            .read_to_end(&mut out)
            .unwrap();
        out
    }

    fn streamed(chunks: &[Vec<u8>]) -> Body {
        let chunks: Vec<_> = chunks
            .iter()
            .map(|chunk| Ok(Bytes::from(chunk.clone())))
            .collect();
        Body::stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn more_than_the_threshold_is_compressed() {
        let text = b"kubernetes ".repeat(THRESHOLD / 11 + 1);
        for body in [
            Body::from(text.clone()),
            streamed(&text.chunks(1000).map(<[u8]>::to_vec).collect::<Vec<_>>()),
        ] {
            let (headers, bytes) = read(compress(answer(body)).await).await;
            assert_eq!(headers["content-encoding"], "gzip");
            assert_eq!(headers["vary"], "Accept-Encoding");
            assert!(bytes.len() < text.len() / 10);
            assert_eq!(unzipped(&bytes), text);
        }
    }

    #[tokio::test]
    async fn the_threshold_itself_is_not() {
        let text = vec![b'a'; THRESHOLD];
        for body in [Body::from(text.clone()), streamed(&[text.clone(), vec![]])] {
            let (headers, bytes) = read(compress(answer(body)).await).await;
            assert!(!headers.contains_key("content-encoding"));
            assert!(!headers.contains_key("vary"));
            assert_eq!(bytes, text);
        }
    }

    #[tokio::test]
    async fn other_content_is_left_alone() {
        let text = vec![b'a'; THRESHOLD + 1];
        let plain = crate::respond::encode::response(200, "text/plain", text.clone());
        assert_eq!(read(compress(plain).await).await.1, text);
        let mut zipped = answer(Body::from(text.clone()));
        zipped
            .headers_mut()
            .insert("content-encoding", HeaderValue::from_static("gzip"));
        assert_eq!(read(compress(zipped).await).await.1, text);
    }

    #[tokio::test]
    async fn a_failure_reaches_the_reader() {
        for size in [10, THRESHOLD + 1] {
            let chunks = [Ok(Bytes::from(vec![b'a'; size])), Err("lost".into())];
            let body = Body::stream(stream::iter(chunks));
            let body = compress(answer(body)).await.into_body();
            assert!(body.collect().await.is_err(), "{size}");
        }
    }

    #[test]
    fn gzip_is_accepted_by_name() {
        for (value, accepted) in [
            ("gzip", true),
            ("deflate, gzip", true),
            ("gzip;q=1.0", false),
            ("*", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
            assert_eq!(accepts_gzip(&headers), accepted, "{value}");
        }
    }
}
