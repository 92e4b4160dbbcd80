//! Content codings with limits.
