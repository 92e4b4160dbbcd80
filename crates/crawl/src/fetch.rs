//! Visits: requests over HTTP/1.x.
