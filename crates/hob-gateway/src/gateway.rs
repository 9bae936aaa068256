//! Starts the gateway. Credentials are loaded before any listener opens, so nothing is reachable
//! unauthenticated.

use crate::authenticator::Authenticator;
use crate::dialect::DialectEntry;
use crate::http::{HttpService, HttpState};
use crate::opt_in_listener::PlannedListener;
use crate::origin::HostList;
use crate::shared::GatewayShared;
use crate::token_cache::TokenCache;
use crate::token_refresher::TokenRefresher;
use crate::{address, hooks, owner_token, settings, tcp_listener, tokens, unix_listener};
use hob_bus::Bus;
use hob_exec::peer::PeerGuard;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::home_lock::HomeLock;
use hob_kit::mask::SecretMask;
use hob_kit::metrics::MetricRegistry;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_store::{Store, StoreError};
use hob_wire::WireError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// The dependencies of a gateway, supplied by the daemon.
pub struct GatewayParts<'p> {
    pub bus: Bus,
    pub store: Store,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// The value of `--listen`. It overrides the setting and counts as chosen by the user.
    pub listen: Option<String>,
    pub home: Home,
    /// Proof that no other daemon runs in this home, so its socket may be replaced.
    pub lock: &'p HomeLock,
    pub clock: Clock,
    pub randomness: Randomness,
    pub tasks: TaskGroup,
    pub mask: SecretMask,
    /// The metrics of the rooms, for `/metrics`.
    pub figures: MetricRegistry,
    /// Decides which programs may connect to the opt-in listeners, which need no token.
    pub peers: PeerGuard,
    pub dialects: &'static [DialectEntry],
    /// Leaves out the room `tokens`, so that a test can register any name.
    pub bare: bool,
}

/// The reason why the gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("{0}")]
    Address(String),
    #[error(
        "hob cannot listen on {address}: {source}. Choose another address with --listen or listen.address, or leave it unset and hob finds a free port."
    )]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("The socket '{}' cannot be created: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Owner(#[from] owner_token::OwnerTokenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] WireError),
}

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    /// The default address, if another program uses it.
    taken: Option<SocketAddr>,
    /// The opt-in listeners, each as `surface address`.
    opt_in: Vec<String>,
    socket: PathBuf,
    accepting: CancellationToken,
}

impl Gateway {
    /// Binds every listener and starts to accept.
    pub async fn start(parts: GatewayParts<'_>) -> Result<Gateway, GatewayError> {
        let addresses = ListenAddresses::from_settings(&parts)?;
        let token_cache = Arc::new(TokenCache::default());
        let token_refresher = token_refresher(&parts, &token_cache);
        let owner_version = token_refresher.load_owner()?;
        // The store leaves damaged rows out, so a damaged token never authenticates.
        for row in parts.store.list_tokens().await?.rows {
            token_cache.insert(&row.info, row.secret_hash);
        }
        if !parts.bare {
            tokens::serve(token_service(&parts, &token_cache))?;
        }

        // The main addresses are bound before any task is spawned: a taken address leaves nothing
        // running.
        let tcp = tcp_listener::bind(addresses.address, !addresses.chosen).await?;
        let address = tcp.local_addr().map_err(addresses.bind_error())?;
        let taken =
            (!addresses.chosen && address != addresses.address).then_some(addresses.address);
        let socket = parts.home.socket();
        let unix_listener = unix_listener::bind(&socket, parts.lock)?;
        let authenticator = |surface| {
            Arc::new(Authenticator::new(
                surface,
                Arc::clone(&token_cache),
                parts.clock.clone(),
            ))
        };
        let (tcp_authenticator, unix_authenticator) = (authenticator("ws"), authenticator("unix"));
        let authenticators = vec![
            Arc::clone(&tcp_authenticator),
            Arc::clone(&unix_authenticator),
        ];
        let shared = Arc::new(gateway_shared(&parts, authenticators));
        let mut opt_in = Vec::new();
        for listener in addresses.opt_in {
            opt_in.push(listener.open(&shared, parts.peers.clone()).await?);
        }

        let http_service = Arc::new(HttpService::new(HttpState {
            shared: Arc::clone(&shared),
            hosts: HostList::for_listener(address),
            authenticator: tcp_authenticator,
        }));
        // Accepting is not dropped at a stop: it sees `accepting`, and the socket file is removed
        // then.
        let tasks = &parts.tasks;
        tasks.spawn(
            "listener",
            tcp_listener::accept(tcp, http_service, Arc::clone(&shared), None),
        );
        let accept = unix_listener::accept(
            unix_listener,
            socket.clone(),
            unix_authenticator,
            Arc::clone(&shared),
        );
        tasks.spawn("unix-listener", accept);
        tasks.spawn_until_stop("token-refresher", token_refresher.run(owner_version));
        let apply = apply_settings(parts.bus.clone(), parts.settings.clone());
        tasks.spawn_until_stop("gateway-settings", apply);
        Ok(Gateway {
            address,
            taken,
            opt_in,
            socket,
            accepting: shared.accepting.clone(),
        })
    }

    /// The address of the WebSocket and HTTP listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All listeners, each as `surface address`.
    pub fn listeners(&self) -> Vec<String> {
        let mut listeners = vec![
            format!("ws {}", self.address),
            format!("unix {}", self.socket.display()),
        ];
        listeners.extend(self.opt_in.iter().cloned());
        listeners
    }

    /// The address or path of the opt-in listener of a surface, if it is open.
    pub fn opt_in_place(&self, surface: &str) -> Option<&str> {
        let mut places = self.opt_in.iter();
        places.find_map(|line| line.strip_prefix(surface)?.strip_prefix(' '))
    }

    /// Warnings about the addresses, for the user.
    pub fn notes(&self) -> Vec<String> {
        let taken = self.taken.iter();
        // The other program would receive the tokens of clients that keep the old address.
        let note = taken.map(|taken| {
            format!(
                "Another program has port {}, so hob listens on {}. A client that has the usual address stored sends its token to that program: give the client the new address, or free the port and run 'hob restart'.",
                taken.port(),
                self.address
            )
        });
        note.collect()
    }

    /// Stops accepting connections and reports it on `/ready`. Open connections stay until the bus
    /// is drained.
    pub fn stop_accepting(&self) {
        self.accepting.cancel();
    }
}

/// The addresses to bind, from the settings.
struct ListenAddresses {
    address: SocketAddr,
    /// The user chose the address, so no other port is tried.
    chosen: bool,
    opt_in: Vec<PlannedListener>,
}

impl ListenAddresses {
    fn from_settings(parts: &GatewayParts<'_>) -> Result<ListenAddresses, GatewayError> {
        let current = parts.settings.borrow();
        let (text, chosen) = match &parts.listen {
            Some(text) => (text.as_str(), true),
            None => settings::listen_address(&current),
        };
        Ok(ListenAddresses {
            address: address::parse(text).map_err(GatewayError::Address)?,
            chosen,
            opt_in: PlannedListener::from_settings(parts.dialects, &current)?,
        })
    }

    fn bind_error(&self) -> impl Fn(io::Error) -> GatewayError {
        let address = self.address;
        move |source| GatewayError::Bind { address, source }
    }
}

fn token_refresher(parts: &GatewayParts<'_>, token_cache: &Arc<TokenCache>) -> TokenRefresher {
    TokenRefresher {
        bus: parts.bus.clone(),
        token_cache: Arc::clone(token_cache),
        clock: parts.clock.clone(),
        randomness: parts.randomness.clone(),
        mask: parts.mask.clone(),
        owner_token: parts.home.owner_token(),
    }
}

fn token_service(parts: &GatewayParts<'_>, token_cache: &Arc<TokenCache>) -> tokens::TokenService {
    tokens::TokenService {
        bus: parts.bus.clone(),
        store: parts.store.clone(),
        token_cache: Arc::clone(token_cache),
        clock: parts.clock.clone(),
        randomness: parts.randomness.clone(),
    }
}

fn gateway_shared(
    parts: &GatewayParts<'_>,
    authenticators: Vec<Arc<Authenticator>>,
) -> GatewayShared {
    let connections_max = settings::connections_max(&parts.settings.borrow());
    GatewayShared {
        bus: parts.bus.clone(),
        store: parts.store.clone(),
        home: parts.home.clone(),
        mask: parts.mask.clone(),
        clock: parts.clock.clone(),
        randomness: parts.randomness.clone(),
        tasks: parts.tasks.clone(),
        settings: parts.settings.clone(),
        // A child token: the gateway can stop accepting before the daemon stops its tasks.
        accepting: parts.tasks.stop_token().child_token(),
        dialects: parts.dialects,
        openapi_text: OnceLock::new(),
        connections_max,
        connections: Arc::new(Semaphore::new(connections_max)),
        hook_limits: hooks::HookLimits::new(),
        authenticators,
        figures: parts.figures.clone(),
    }
}

/// Passes live settings on to the bus.
async fn apply_settings(bus: Bus, mut current: watch::Receiver<Arc<Settings>>) {
    loop {
        let timeout_ms = settings::request_timeout_ms(&current.borrow_and_update());
        bus.limits().set_request_timeout_ms(timeout_ms);
        if current.changed().await.is_err() {
            return;
        }
    }
}

impl std::fmt::Debug for GatewayParts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayParts").finish_non_exhaustive()
    }
}
