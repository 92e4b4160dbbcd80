//! Settings of the visits.

use std::time::Duration;

use super::resolve::ResolveRule;

/// A setting that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It would break the request head.
    #[error(
        "agent {0:?}: a User-Agent is one line of printable ASCII; change --agent-name or --contact"
    )]
    Agent(String),
    /// Nothing could ever be fetched.
    #[error("visits: at least 1 is needed")]
    Visits,
    /// The runtime or its threads could not be made.
    #[error("visits: cannot start the network thread: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Settings of [`Visits`](super::Visits); sizes in bytes.
#[derive(Debug, Clone)]
pub struct VisitsConfig {
    /// The whole `User-Agent` header.
    pub agent: String,
    /// The product token that robots.txt files are read for.
    pub token: String,
    /// Names that do not go through DNS.
    pub resolve: Vec<ResolveRule>,
    /// Lets every address through the guard.
    pub allow_private: bool,
    /// Hosts, with or without port, that may have private addresses: seeds that are local.
    pub local_hosts: Vec<String>,
    /// The agent's name and contact were given: needed for public addresses.
    pub identified: bool,
    /// Leases at a time.
    pub visits: usize,
    /// Where a body is cut.
    pub max_body: usize,
    /// A longer response head is refused.
    pub max_head: usize,
    /// Resolving, connecting and the TLS handshake, each.
    pub connect_timeout: Duration,
    /// From the request to the first byte, and from each byte to the next.
    pub first_byte_timeout: Duration,
    /// From the request to the last byte.
    pub total_timeout: Duration,
    /// How long a connection is kept for the host's next lease.
    pub idle_timeout: Duration,
    /// For all bodies in flight; see [`limits`](super::limits).
    pub body_budget: usize,
    /// Off only for a web of one's own.
    pub obey_robots: bool,
    /// How long a robots.txt holds; 24 hours at most.
    pub robots_ttl: Duration,
    /// For the robots.txt files remembered.
    pub robots_budget: usize,
}

impl Default for VisitsConfig {
    fn default() -> Self {
        Self {
            agent: "crivello".into(),
            token: "crivello".into(),
            resolve: Vec::new(),
            allow_private: false,
            local_hosts: Vec::new(),
            identified: false,
            visits: 256,
            max_body: 10 << 20,
            max_head: 64 << 10,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(20),
            total_timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_secs(10),
            body_budget: 128 << 20,
            obey_robots: true,
            robots_ttl: Duration::from_hours(24),
            robots_budget: 32 << 20,
        }
    }
}

impl VisitsConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let printable = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if self.agent.trim().is_empty() || !printable(&self.agent) {
            return Err(ConfigError::Agent(self.agent.clone()));
        }
        if self.visits == 0 {
            return Err(ConfigError::Visits);
        }
        Ok(())
    }
}
