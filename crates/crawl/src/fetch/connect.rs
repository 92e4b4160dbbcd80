//! Connections: TCP, and TLS by rustls over it.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{future, io};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::outcome::FetchError;

/// A byte stream to a server.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }

    /// Whether an idle connection looks fit for another request: the server has neither
    /// closed it nor said anything unasked.
    pub(super) async fn is_quiet(&self) -> bool {
        let mut byte = [0];
        let mut peeked = ReadBuf::new(&mut byte);
        future::poll_fn(|context| {
            Poll::Ready(self.tcp().poll_peek(context, &mut peeked).is_pending())
        })
        .await
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(context, into),
            Self::Tls(tls) => Pin::new(tls).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(context, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(context),
            Self::Tls(tls) => Pin::new(tls).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(context),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(context),
        }
    }
}

/// Opens connections; reads the trusted roots at the first handshake.
pub(super) struct Connector {
    patience: Duration,
    tls: OnceLock<TlsConnector>,
}

impl Connector {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, tls: OnceLock::new() }
    }

    /// Connects to an address that the guard has passed; over TLS when `secure`, with the
    /// certificate checked for `host`.
    pub(super) async fn connect(
        self: &Arc<Self>,
        address: SocketAddr,
        secure: bool,
        host: &str,
    ) -> Result<Stream, FetchError> {
        let tcp = timeout(self.patience, TcpStream::connect(address))
            .await
            .map_err(|_| FetchError::Connect("timed out".into()))?
            .map_err(|error| FetchError::Connect(error.to_string()))?;
        // Requests are one small write; Nagle's algorithm would only hold them back.
        tcp.set_nodelay(true).map_err(|error| FetchError::Connect(error.to_string()))?;
        if !secure {
            return Ok(Stream::Plain(tcp));
        }
        let name = match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(ip) => ServerName::from(ip),
            Err(_) => ServerName::try_from(host.to_owned())
                .map_err(|_| FetchError::Tls(format!("{host} cannot stand in a certificate")))?,
        };
        let tls = timeout(self.patience, self.tls().await?.connect(name, tcp))
            .await
            .map_err(|_| FetchError::Tls("timed out".into()))?
            .map_err(|error| FetchError::Tls(error.to_string()))?;
        Ok(Stream::Tls(Box::new(tls)))
    }

    async fn tls(self: &Arc<Self>) -> Result<TlsConnector, FetchError> {
        if let Some(ready) = self.tls.get() {
            return Ok(ready.clone());
        }
        // Reading the system's certificates takes milliseconds that other visits need.
        let this = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            if let Some(ready) = this.tls.get() {
                return Ok(ready.clone());
            }
            let ready = tls_connector()?;
            Ok(this.tls.get_or_init(|| ready).clone())
        })
        .await
        .map_err(|error| FetchError::Tls(error.to_string()))?
    }
}

/// Mozilla's roots and the system's; sessions are resumed (the default of rustls).
fn tls_connector() -> Result<TlsConnector, FetchError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| FetchError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
