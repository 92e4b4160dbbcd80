//! The Mercator sieve: every URL comes out exactly once.
