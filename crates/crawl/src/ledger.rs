//! The politeness ledger.
