//! The one door to durable bytes.
