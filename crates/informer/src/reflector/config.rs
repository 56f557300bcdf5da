//! [`ReflectorConfig`]: the times and sizes of a reflector.

use std::time::Duration;

use super::backoff::BackoffSettings;

/// The times and sizes of a reflector.
#[derive(Clone, Debug, PartialEq)]
pub struct ReflectorConfig {
    /// Begin with a watch that sends the objects there are, where the server can do that.
    pub watch_list: bool,
    /// Items of a page, always; by the circumstances unless given.
    pub page_size: Option<u32>,
    /// Watches end after that long or up to twice as long. Less than five minutes is five minutes.
    pub watch_timeout: Duration,
    /// A watch that brings nothing for so long, not even a bookmark, is begun anew.
    pub silence: Duration,
    /// A list or a beginning watch that brings nothing for so long is given up.
    pub stall: Duration,
    /// A watch that has gone over to live events must have sent its end marker after that long.
    pub marker: Duration,
    /// Errors with code 500 at the end of a watch that are so close together do not cause a list; none unless given.
    pub internal_error_retry: Duration,
    /// How long to wait before another attempt.
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

/// Items of a page where nothing is known.
pub(super) const PAGE_SIZE: u32 = 500;

/// The shortest watch timeout.
pub(super) const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);
