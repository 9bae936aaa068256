//! Fixture: a gateway in a temporary home, and small clients for the tests. The dialects are those
//! of the test crate.

use futures_util::{SinkExt, StreamExt};
use hob_bus::{Bus, BusLimits, BusParts, Room, publisher};
use hob_exec::peer::{ListenerAccess, OwnProcess, PeerGuard};
use hob_gateway::{Gateway, GatewayError, GatewayParts};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::home_lock::HomeLock;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::metrics::{MetricRegistry, MetricSample};
use hob_kit::randomness::Randomness;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_kit::tasks::TaskGroup;
use hob_store::{Store, StoreOptions};
use hob_wire::rooms::session;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

/// Far beyond what any step takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct House {
    pub(crate) gateway: Gateway,
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) tasks: TaskGroup,
    pub(crate) home: Home,
    settings: watch::Sender<Arc<Settings>>,
    _lock: HomeLock,
    root: TempDir,
}

/// Settings of a test: any free port, unless `text` says otherwise.
pub(crate) fn settings(text: &str) -> Arc<Settings> {
    let mut keys = vec![hob_gateway::KEYS];
    keys.extend(crate::dialects().iter().map(|dialect| dialect.keys));
    let catalog = Arc::new(SettingsCatalog::new(&keys));
    Arc::new(Settings::load(&catalog, "config.toml", text, &EnvVars::default()).unwrap())
}

impl House {
    pub(crate) async fn new() -> House {
        House::with("", Some("127.0.0.1:0")).await.unwrap()
    }

    pub(crate) async fn with(config: &str, listen: Option<&str>) -> Result<House, GatewayError> {
        House::build(config, listen, Clock::system()).await
    }

    pub(crate) async fn build(
        config: &str,
        listen: Option<&str>,
        clock: Clock,
    ) -> Result<House, GatewayError> {
        let root = tempfile::tempdir().unwrap();
        House::build_in(root, config, listen, clock).await
    }

    /// In a home that may have lived before.
    pub(crate) async fn build_in(
        root: TempDir,
        config: &str,
        listen: Option<&str>,
        clock: Clock,
    ) -> Result<House, GatewayError> {
        let home = Home::at(root.path());
        home.ensure().unwrap();
        let lock = HomeLock::acquire(&home).unwrap();
        let tasks = TaskGroup::new();
        let (publisher, inbox) = publisher();
        let options = StoreOptions {
            database: home.database(),
            clock: clock.clone(),
            randomness: Randomness::system(),
            publisher,
            had_database: false,
        };
        let store = tokio::task::spawn_blocking(|| Store::open(options));
        let store = store.await.unwrap().unwrap();
        let bus = Bus::new(BusParts {
            log: store.event_log(),
            inbox,
            clock: clock.clone(),
            randomness: Randomness::system(),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: "0.0.0".to_owned(),
        });
        bus.serve(sessions(&store)).unwrap();
        let (sender, receiver) = watch::channel(settings(config));
        let gateway = Gateway::start(GatewayParts {
            bus: bus.clone(),
            store: store.clone(),
            settings: receiver,
            listen: listen.map(str::to_owned),
            home: home.clone(),
            lock: &lock,
            clock: clock.clone(),
            randomness: Randomness::system(),
            tasks: tasks.clone(),
            mask: SecretMask::new(),
            figures: figures(),
            peers: PeerGuard::new(ListenerAccess::default(), OwnProcess::Admitted),
            dialects: crate::dialects(),
            bare: false,
        })
        .await?;
        Ok(House {
            gateway,
            bus,
            store,
            clock,
            tasks,
            home,
            settings: sender,
            _lock: lock,
            root,
        })
    }

    pub(crate) fn set(&self, config: &str) {
        self.settings.send(settings(config)).unwrap();
    }

    pub(crate) fn host(&self) -> String {
        self.gateway.address().to_string()
    }

    pub(crate) fn owner(&self) -> String {
        hob_gateway::owner_token::read(&self.home.owner_token()).unwrap()
    }

    /// A new token's id and text.
    pub(crate) async fn token(&self, scopes: &str, life_ms: Option<u64>) -> (String, String) {
        let mut params = json!({
            "name": format!("t{}", Randomness::system().hex(4)),
            "scopes": scopes.split(',').collect::<Vec<_>>(),
        });
        if let Some(life_ms) = life_ms {
            params["expiresInMs"] = json!(life_ms);
        }
        let answer = self.rpc(&self.owner(), "token.create", &params).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let text = |key: &str| answer.json()[key].as_str().unwrap().to_owned();
        (text("id"), text("token"))
    }

    pub(crate) async fn rpc(&self, token: &str, method: &str, params: &Value) -> Answer {
        let body = params.to_string();
        self.send(&format!(
            "POST /api/rpc/{method} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.host(),
            body.len(),
        ))
        .await
    }

    pub(crate) async fn get(&self, path: &str, headers: &[&str]) -> Answer {
        let host = format!("Host: {}", self.host());
        let mut lines = vec![host.as_str(), "Connection: close"];
        lines.extend(headers);
        let head = lines.join("\r\n");
        self.send(&format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n"))
            .await
    }

    /// Sends exactly these bytes and reads until the other side closes.
    pub(crate) async fn send(&self, request: &str) -> Answer {
        exchange(&self.host(), request.as_bytes()).await
    }

    pub(crate) async fn socket(&self, token: &str) -> Socket {
        let bearer = format!("Bearer {token}");
        Socket::open(&self.host(), "/ws", &[("Authorization", &bearer)])
            .await
            .unwrap()
    }

    /// Ends everything, politely; gives back the home.
    pub(crate) async fn stop(self) -> TempDir {
        self.gateway.stop_accepting();
        self.bus.drain(Duration::from_secs(5)).await;
        assert!(self.tasks.finish(PATIENCE).await, "tasks hang");
        self.store.close().await;
        self.root
    }
}

fn sessions(store: &Store) -> Room {
    let (creating, getting, noting) = (store.clone(), store.clone(), store.clone());
    Room::new("sessions")
        .method::<session::Annotate, _, _>(move |_, params| {
            let store = noting.clone();
            async move { Ok(store.annotate_session(params).await?) }
        })
        .method::<session::Create, _, _>(move |_, params| {
            let store = creating.clone();
            async move { Ok(store.create_session(params).await?) }
        })
        .method::<session::Get, _, _>(move |_, params| {
            let store = getting.clone();
            async move {
                let named = hob_wire::id::SessionRef::parse(&params.session_key);
                Ok(store.get_session(&named).await?)
            }
        })
        .event::<session::SessionCreated>()
}

/// One HTTP answer, taken apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn exchange(host: &str, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(host).await.unwrap();
    // The other side may answer and close before it has read everything.
    let _ = stream.write_all(request).await;
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    let _ = read.expect("the connection is closed in time");
    parse(&bytes)
}

pub(crate) fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(bytes)));
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Answer {
        status: status.parse().unwrap(),
        headers,
        body: bytes[end + 4..].to_vec(),
    }
}

/// A plain WebSocket client.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) inner: tokio_tungstenite::WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) protocol: Option<String>,
}

impl Socket {
    /// Opens, or gives back the HTTP status of the refusal.
    pub(crate) async fn open(
        host: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Socket, u16> {
        let mut request = format!("ws://{host}{path}").into_client_request().unwrap();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((inner, response)) => {
                let protocol = response.headers().get("sec-websocket-protocol");
                let protocol = protocol.map(|value| value.to_str().unwrap().to_owned());
                Ok(Socket { inner, protocol })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.inner.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn call(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.send(
            &json!({"type": "req", "id": id, "target": "", "method": method, "params": params}),
        )
        .await;
        loop {
            let frame = self.next().await;
            if frame["type"] == "res" && frame["id"] == id {
                return frame;
            }
        }
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match self.message().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("no frame but {other:?}"),
            }
        }
    }

    /// Reads on until the other side closes; its close frame, if it sent one.
    pub(crate) async fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match self.message().await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    pub(crate) async fn message(&mut self) -> Option<Result<Message, Error>> {
        let next = tokio::time::timeout(PATIENCE, self.inner.next()).await;
        next.expect("something comes in time")
    }
}

/// What a room of the house keeps of itself.
fn figures() -> MetricRegistry {
    let figures = MetricRegistry::default();
    figures.register(|| {
        let of = |outcome, value| MetricSample {
            name: "hob_example_total",
            help: "Examples by outcome.",
            is_counter: true,
            label: Some(("outcome", outcome)),
            value,
        };
        vec![of("good", 3), of("bad", 0)]
    });
    figures
}
