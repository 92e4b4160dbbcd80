//! The frontier: per-host queues, host and IP tokens.
