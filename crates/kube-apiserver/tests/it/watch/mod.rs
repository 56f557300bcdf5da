//! Watches: where they start, what they let through, how they end.

mod bookmarks;
mod formats;
mod laggards;
mod selection;
mod starts;
