//! URLs: parsing, joining, identity.
