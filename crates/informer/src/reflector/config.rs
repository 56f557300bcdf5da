//! [`ReflectorConfig`]: the timeouts and sizes of a reflector.

use std::time::Duration;

use super::backoff::BackoffSettings;

/// The timeouts and sizes of a reflector.
///
/// ```
/// use std::time::Duration;
/// use kubewright_informer::{BackoffSettings, ReflectorConfig};
///
/// let config = ReflectorConfig {
///     page_size: Some(1000),
///     backoff: BackoffSettings { most: Duration::from_secs(5), ..BackoffSettings::default() },
///     ..ReflectorConfig::default()
/// };
/// assert!(config.watch_list);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReflectorConfig {
    /// True to begin with a watch that sends the existing objects, where the server supports that.
    pub watch_list: bool,
    /// The number of items of a page. By default it depends on the circumstances, as in client-go.
    pub page_size: Option<u32>,
    /// The minimum duration of a watch, at least five minutes; watches end at random up to twice as late.
    pub watch_timeout: Duration,
    /// The time without any event or bookmark after which a watch is restarted.
    pub silence: Duration,
    /// The time without any bytes after which a list or the start of a watch is given up.
    pub stall: Duration,
    /// The time after the first live event by which a watch list must have sent its end marker.
    pub marker: Duration,
    /// The window in which internal server errors at the end of a watch do not cause a list. None by default.
    pub internal_error_retry: Duration,
    /// The delays between attempts.
    pub backoff: BackoffSettings,
}

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            watch_list: true,
            page_size: None,
            watch_timeout: Duration::from_secs(300),
            silence: Duration::from_secs(180),
            stall: Duration::from_secs(30),
            marker: Duration::from_secs(60),
            internal_error_retry: Duration::ZERO,
            backoff: BackoffSettings::default(),
        }
    }
}

/// The default page size.
pub(super) const PAGE_SIZE: u32 = 500;

/// The shortest watch timeout.
pub(super) const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);
