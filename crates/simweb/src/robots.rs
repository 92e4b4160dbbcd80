//! robots.txt of every kind.

use crate::World;
use crate::hosts::{Host, Role};
use crate::rng::mix;
use crate::slots::put;

const SECTIONS: &[u8] = b"User-agent: *\nDisallow: /private/\nAllow: /private/open/\n";

/// What the request for a host's robots.txt, or a page that it redirects to, is answered with.
pub struct Robots {
    /// The status.
    pub status: u16,
    /// Where it redirects to.
    pub location: Option<&'static str>,
    /// The body.
    pub body: Vec<u8>,
}

impl Robots {
    fn status(status: u16) -> Self {
        Self { status, location: None, body: b"no rules here\n".to_vec() }
    }

    fn rules(body: Vec<u8>) -> Self {
        Self { status: 200, location: None, body }
    }

    fn moved(status: u16, location: &'static str) -> Self {
        Self { status, location: Some(location), body: Vec::new() }
    }

    /// The answer of a host to a path, if the path belongs to robots.txt.
    pub fn find(world: &World, host: &Host, path: &[u8]) -> Option<Self> {
        let redirects = host.role == Role::RobotsRedirect;
        Some(match path {
            b"/robots.txt" => Self::of(world, host),
            b"/robots/step.txt" if redirects => Self::moved(302, "rules.txt"),
            b"/robots/rules.txt" if redirects => Self::rules(SECTIONS.to_vec()),
            _ => return None,
        })
    }

    fn of(world: &World, host: &Host) -> Self {
        let draw = mix(host.seed, 0x40b0);
        match host.role {
            Role::RobotsSections => {
                let mut body = SECTIONS.to_vec();
                body.extend_from_slice(b"\nUser-agent: badbot # \xe9\nDisallow: /\n");
                write_sitemap(world, host, &mut body);
                Self::rules(body)
            }
            Role::RobotsWildcard => {
                Self::rules(b"user-agent : *\nDISALLOW: /*.cgi$ # ends so\nAllow: /\n".to_vec())
            }
            Role::RobotsAgent => {
                let delay = 0.1 * world.config.time_scale;
                let own = format!(
                    "User-agent: *\nDisallow: /\n\nUser-agent: Otherbot\nUser-agent: Crivello\n\
                     Crawl-delay: {delay:.3}\nDisallow: /private/\nAllow: /private/open/\n"
                );
                Self::rules(own.into_bytes())
            }
            Role::RobotsDenyAll => Self::rules(b"User-agent: *\nDisallow: /\n".to_vec()),
            Role::RobotsClientError => Self::status([401, 403, 410][draw as usize % 3]),
            Role::RobotsServerError => Self::status(503),
            Role::RobotsRedirect => Self::moved(301, "/robots/step.txt"),
            Role::RobotsHuge => {
                let mut body = SECTIONS.to_vec();
                while body.len() < 600 << 10 {
                    body.extend_from_slice(b"# nothing is said in this line, nor in the next\n");
                }
                Self::rules(body)
            }
            Role::RobotsBomCr => {
                let mut body = b"\xef\xbb\xbf".to_vec();
                body.extend(SECTIONS.iter().map(|&byte| if byte == b'\n' { b'\r' } else { byte }));
                Self::rules(body)
            }
            Role::Ordinary | Role::Refused | Role::Slow | Role::Http10 | Role::Mirror => {
                if draw.is_multiple_of(3) {
                    return Self::status(404);
                }
                let mut body = b"User-agent: *\nDisallow:\n".to_vec();
                write_sitemap(world, host, &mut body);
                Self::rules(body)
            }
        }
    }
}

fn write_sitemap(world: &World, host: &Host, out: &mut Vec<u8>) {
    if host.sitemap().is_some() {
        put(out, &[b"\nSitemap: http://"]);
        world.write_host(host.id, out);
        put(out, &[b"/sitemap.xml\n"]);
    }
}
