//! Opens the opt-in listeners of the dialects.
//!
//! Invariants: every configured address is valid before the first listener opens. A TCP address that
//! is taken stops the gateway, unless its dialect can do without it. The path of a socket may be in a shared folder such as `/tmp`, so a
//! socket that cannot be opened is only reported.

use crate::authenticator::Authenticator;
use crate::dialect::{DialectEntry, HttpProtocol, OptInProtocol, SocketProtocol};
use crate::gateway::GatewayError;
use crate::http::{HttpService, HttpState};
use crate::origin::HostList;
use crate::peer_check::{self, PeerCheck};
use crate::shared::GatewayShared;
use crate::token_cache::Principal;
use crate::{address, opt_in_socket, tcp_listener};
use hob_exec::peer::PeerGuard;
use hob_kit::settings::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// An opt-in listener that the settings open.
pub(crate) struct PlannedListener {
    surface: &'static str,
    /// The system whose clients connect, for the log.
    system: &'static str,
    /// The sender of every request here.
    grant: Principal,
    place: ListenPlace,
    may_be_taken: bool,
}

enum ListenPlace {
    Tcp(SocketAddr, HttpProtocol),
    Unix(PathBuf, SocketProtocol),
}

impl PlannedListener {
    /// Reads the places of all opt-in listeners from the settings.
    pub(crate) fn from_settings(
        dialects: &[DialectEntry],
        settings: &Settings,
    ) -> Result<Vec<PlannedListener>, GatewayError> {
        let mut planned = Vec::new();
        for dialect in dialects {
            let Some(opt_in) = &dialect.opt_in else {
                continue;
            };
            let Some(place) = (opt_in.place)(settings) else {
                continue;
            };
            planned.push(PlannedListener {
                surface: dialect.surface,
                system: dialect.system,
                grant: Principal {
                    id: dialect.surface.into(),
                    name: dialect.surface.into(),
                    scopes: (opt_in.scopes)(),
                },
                place: match opt_in.protocol {
                    OptInProtocol::Http(protocol) => {
                        let address = address::parse(&place).map_err(GatewayError::Address)?;
                        ListenPlace::Tcp(address, protocol)
                    }
                    OptInProtocol::Socket(protocol) => {
                        ListenPlace::Unix(PathBuf::from(place), protocol)
                    }
                },
                may_be_taken: dialect.may_be_taken,
            });
        }
        Ok(planned)
    }

    /// Opens the listener and starts to accept. Returns it as `surface address` for people; one that
    /// could not be opened has the reason in place of its address or path.
    pub(crate) async fn open(
        self,
        shared: &Arc<GatewayShared>,
        peers: PeerGuard,
    ) -> Result<String, GatewayError> {
        let (surface, system) = (self.surface, self.system);
        let check = PeerCheck::new(surface, peers);
        let shown = match self.place {
            ListenPlace::Tcp(wanted, protocol) => {
                let clock = shared.clock.clone();
                // The token cache stays empty: no token is valid here, and the grant decides.
                let authenticator = Authenticator::new(surface, Arc::default(), clock);
                let authenticator = authenticator.granting(self.grant);
                match open_tcp(wanted, protocol, shared, (authenticator, check)).await {
                    Ok(address) => {
                        peer_check::announce(system, address);
                        address.to_string()
                    }
                    Err(GatewayError::Bind { source, .. }) if self.may_be_taken => {
                        tracing::warn!("the listener for {system} was not opened: {source}");
                        format!("not open: {wanted}: {source}")
                    }
                    Err(refused) => return Err(refused),
                }
            }
            ListenPlace::Unix(path, protocol) => {
                let shown = path.display().to_string();
                let access = (self.grant, check);
                match opt_in_socket::open(path, protocol, shared, access).await {
                    Ok(()) => {
                        tracing::info!(
                            "{system} clients of this user may connect to {shown} without a token"
                        );
                        shown
                    }
                    Err(refused) => {
                        tracing::warn!("the socket for {system} was not opened: {refused}");
                        format!("not open: {refused}")
                    }
                }
            }
        };
        Ok(format!("{surface} {shown}"))
    }
}

async fn open_tcp(
    wanted: SocketAddr,
    protocol: HttpProtocol,
    shared: &Arc<GatewayShared>,
    (authenticator, check): (Authenticator, PeerCheck),
) -> Result<SocketAddr, GatewayError> {
    let tcp = tcp_listener::bind(wanted, false).await?;
    let failed = |source| GatewayError::Bind {
        address: wanted,
        source,
    };
    // The Host check needs the real port, which differs from the setting if that is 0.
    let address = tcp.local_addr().map_err(failed)?;
    let state = HttpState {
        shared: Arc::clone(shared),
        hosts: HostList::for_listener(address),
        authenticator: Arc::new(authenticator),
    };
    let http_service = HttpService::with_router(Arc::new(state), (protocol.routes)());
    let served = Arc::clone(shared);
    let accept = tcp_listener::accept(tcp, Arc::new(http_service), served, Some(check));
    shared.tasks.spawn("opt-in-listener", accept);
    (protocol.on_open)(address, shared);
    Ok(address)
}
