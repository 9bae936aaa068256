//! A hub of model files on two ports, with the API, the headers and the refusals of the real one: the
//! hub lists files and redirects, the storage sends them.
//!
//! | Request | Answer |
//! |---|---|
//! | `GET /api/models/OWNER/REPO?blobs=true` | files with sizes, and SHA-256 for those in large file storage |
//! | `GET /OWNER/REPO/resolve/REVISION/FILE` | 302 to the storage, with `X-Linked-Size`, `X-Linked-ETag`, `X-Repo-Commit` |
//! | a repository that is not there | 401, as the real hub answers without a token |
//! | a gated repository without the token | the list; 401 with `X-Error-Code: GatedRepo` for the file |
//! | the storage with an `Authorization` header | 400: its addresses are signed |
//!
//! Invariant: nothing listens beyond 127.0.0.1; the listeners end with the [`ModelHub`].

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The commit of every repository.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// Requests that are remembered.
const REQUESTS_MAX: usize = 4_096;
const HEAD_LINES_MAX: usize = 100;
const PIECE_BYTES: usize = 64 * 1024;
/// How often a held answer looks whether the hub has ended.
const HOLD_POLL: Duration = Duration::from_millis(50);

/// A file of the hub.
#[derive(Clone, Debug)]
pub struct HubSimFile {
    /// `OWNER/REPO`.
    pub repository: String,
    pub path: String,
    pub content: Arc<Vec<u8>>,
    /// The checksum in the list; without, the real one.
    pub listed_sha256: Option<String>,
    /// The size in the list and in `X-Linked-Size`; without, the real one.
    pub listed_bytes: Option<u64>,
    pub gated: bool,
}

impl HubSimFile {
    pub fn new(repository: &str, path: &str, content: Vec<u8>) -> HubSimFile {
        HubSimFile {
            repository: repository.to_owned(),
            path: path.to_owned(),
            content: Arc::new(content),
            listed_sha256: None,
            listed_bytes: None,
            gated: false,
        }
    }

    fn sha256(&self) -> String {
        let real = || {
            let digest = Sha256::digest(self.content.as_slice());
            digest.iter().fold(String::new(), |mut text, byte| {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        self.listed_sha256.clone().unwrap_or_else(real)
    }

    fn bytes(&self) -> u64 {
        self.listed_bytes.unwrap_or(self.content.len() as u64)
    }
}

/// How the storage misbehaves at its next requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageFault {
    /// Closes the connection after so many bytes of the body.
    Cut(u64),
    /// Sends the whole file whatever range is asked for.
    IgnoreRange,
    /// Sends a part that begins elsewhere.
    WrongRange,
    /// Answers with this status.
    Status(u16),
    /// Sends without a length, and does not stop at the end of the file.
    Endless,
    /// Waits after so many bytes of the body until [`ModelHub::release`].
    Hold(u64),
}

/// A request that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSimRequest {
    /// True for the storage, false for the hub.
    pub to_storage: bool,
    pub path: String,
    pub range: Option<String>,
    pub authorization: Option<String>,
}

/// A hub with its storage, in threads of its own; both end when it is dropped.
#[derive(Debug)]
pub struct ModelHub {
    hub: SocketAddr,
    shared: Arc<HubState>,
}

#[derive(Debug)]
struct HubState {
    files: Vec<HubSimFile>,
    /// The token that opens gated repositories.
    token: Option<String>,
    storage: SocketAddr,
    faults: Mutex<VecDeque<StorageFault>>,
    /// Where the hub redirects to instead of the storage.
    redirect: Mutex<Option<String>>,
    requests: Mutex<VecDeque<HubSimRequest>>,
    released: Mutex<bool>,
    release: Condvar,
    ended: AtomicBool,
}

struct Head {
    path: String,
    range: Option<String>,
    authorization: Option<String>,
}

impl ModelHub {
    /// Starts a hub with these files.
    #[expect(
        clippy::expect_used,
        reason = "a test without its hub has nothing to say but this"
    )]
    pub fn start(files: Vec<HubSimFile>, token: Option<&str>) -> ModelHub {
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let (hub, storage) = (listen(), listen());
        let address = |listener: &TcpListener| listener.local_addr().expect("an address");
        let shared = Arc::new(HubState {
            files,
            token: token.map(str::to_owned),
            storage: address(&storage),
            faults: Mutex::default(),
            redirect: Mutex::default(),
            requests: Mutex::default(),
            released: Mutex::default(),
            release: Condvar::new(),
            ended: AtomicBool::new(false),
        });
        let at = address(&hub);
        serve(hub, &shared, false);
        serve(storage, &shared, true);
        ModelHub { hub: at, shared }
    }

    /// The address for `HF_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.hub)
    }

    /// Lets the next requests to the storage fail, one each.
    pub fn fail_next(&self, faults: impl IntoIterator<Item = StorageFault>) {
        locked(&self.shared.faults).extend(faults);
    }

    /// Redirects to this address instead of the storage.
    pub fn redirect_to(&self, location: &str) {
        *locked(&self.shared.redirect) = Some(location.to_owned());
    }

    /// Lets held answers go on.
    pub fn release(&self) {
        *locked(&self.shared.released) = true;
        self.shared.release.notify_all();
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<HubSimRequest> {
        locked(&self.shared.requests).iter().cloned().collect()
    }
}

impl Drop for ModelHub {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.release();
        // Wakes the two accept loops.
        for address in [self.hub, self.shared.storage] {
            drop(TcpStream::connect(address));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(listener: TcpListener, shared: &Arc<HubState>, is_storage: bool) {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        for stream in listener.incoming() {
            if shared.ended.load(Ordering::Relaxed) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let shared = Arc::clone(&shared);
            // A client that goes away is none of the hub's concern.
            thread::spawn(move || drop(shared.answer(stream, is_storage)));
        }
    });
}

impl HubState {
    /// Answers one request; the connection ends with it.
    fn answer(&self, mut stream: TcpStream, is_storage: bool) -> io::Result<()> {
        let Some(head) = read_head(&stream)? else {
            return Ok(());
        };
        {
            let mut requests = locked(&self.requests);
            requests.push_back(HubSimRequest {
                to_storage: is_storage,
                path: head.path.clone(),
                range: head.range.clone(),
                authorization: head.authorization.clone(),
            });
            if requests.len() > REQUESTS_MAX {
                requests.pop_front();
            }
        }
        if is_storage {
            self.answer_storage(&mut stream, &head)
        } else {
            self.answer_hub(&mut stream, &head)
        }
    }

    fn answer_hub(&self, stream: &mut TcpStream, head: &Head) -> io::Result<()> {
        let path = head.path.split('?').next().unwrap_or_default();
        if let Some(repository) = path.strip_prefix("/api/models/") {
            let files: Vec<_> = self
                .files
                .iter()
                .filter(|it| it.repository == repository)
                .collect();
            if files.is_empty() {
                return refuse(stream, 401, "", "Invalid username or password.");
            }
            let headers = "Content-Type: application/json\r\n";
            return reply(stream, "200 OK", headers, &listing(&files));
        }
        let Some((repository, rest)) = path.trim_start_matches('/').split_once("/resolve/") else {
            return refuse(
                stream,
                404,
                "",
                "Sorry, we can't find the page you are looking for.",
            );
        };
        let file = rest
            .split_once('/')
            .map(|(_, file)| file.replace("%2B", "+"));
        let of_repository = || self.files.iter().filter(|it| it.repository == repository);
        if of_repository().next().is_none() {
            return refuse(stream, 401, "RepoNotFound", "Repository not found");
        }
        let Some(file) = of_repository().find(|it| Some(&it.path) == file.as_ref()) else {
            return refuse(stream, 404, "EntryNotFound", "Entry not found");
        };
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        if file.gated && (bearer.is_none() || head.authorization != bearer) {
            let message = format!(
                "Access to model {repository} is restricted. You must have access to it and be authenticated to access it. Please log in."
            );
            return refuse(stream, 401, "GatedRepo", &message);
        }
        let own = format!(
            "http://{}/repos/{repository}/{}?X-Amz-Expires=3600&X-Amz-Signature=5191",
            self.storage, file.path
        );
        let location = locked(&self.redirect).clone().unwrap_or(own);
        let headers = format!(
            "Location: {location}\r\nX-Repo-Commit: {COMMIT}\r\nX-Linked-Size: {}\r\nX-Linked-ETag: \"{}\"\r\nAccept-Ranges: bytes\r\nVary: Origin, Accept\r\n",
            file.bytes(),
            file.sha256()
        );
        let body = format!("Found. Redirecting to {location}");
        reply(stream, "302 Found", &headers, body.as_bytes())
    }

    fn answer_storage(&self, stream: &mut TcpStream, head: &Head) -> io::Result<()> {
        if head.authorization.is_some() {
            let why = "Only one auth mechanism allowed";
            return reply(stream, "400 Bad Request", "", why.as_bytes());
        }
        let path = head.path.split('?').next().unwrap_or_default();
        let wanted =
            |file: &&HubSimFile| path == format!("/repos/{}/{}", file.repository, file.path);
        let Some(file) = self.files.iter().find(wanted) else {
            return reply(
                stream,
                "403 Forbidden",
                "",
                b"<Error><Code>AccessDenied</Code></Error>",
            );
        };
        let fault = locked(&self.faults).pop_front();
        if let Some(StorageFault::Status(status)) = fault {
            return reply(stream, &format!("{status} Refused"), "", b"SlowDown");
        }
        let content = file.content.as_slice();
        let range = head
            .range
            .as_deref()
            .and_then(|range| range.strip_prefix("bytes="));
        let from = range.and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
        let from = from.filter(|_| fault != Some(StorageFault::IgnoreRange));
        if from.is_some_and(|from| from >= content.len()) {
            let headers = format!("Content-Range: bytes */{}\r\n", content.len());
            return reply(stream, "416 Range Not Satisfiable", &headers, b"");
        }
        let start = from.unwrap_or(0);
        let body = &content[start..];
        let shown = match fault {
            Some(StorageFault::WrongRange) => start + 1,
            _ => start,
        };
        let status = match from {
            Some(_) => format!(
                "206 Partial Content\r\nContent-Range: bytes {shown}-{}/{}",
                content.len() - 1,
                content.len()
            ),
            None => "200 OK".to_owned(),
        };
        let length = match fault {
            Some(StorageFault::Endless) => String::new(),
            _ => format!("Content-Length: {}\r\n", body.len()),
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\n{length}Content-Type: binary/octet-stream\r\nETag: \"{}\"\r\nConnection: close\r\n\r\n",
            file.sha256()
        )?;
        self.send_body(stream, body, fault.as_ref())
    }

    fn send_body(
        &self,
        stream: &mut TcpStream,
        body: &[u8],
        fault: Option<&StorageFault>,
    ) -> io::Result<()> {
        let at = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX).min(body.len());
        match fault {
            Some(StorageFault::Cut(bytes)) => return stream.write_all(&body[..at(*bytes)]),
            Some(StorageFault::Hold(bytes)) => {
                let (first, rest) = body.split_at(at(*bytes));
                stream.write_all(first)?;
                self.wait_for_release();
                return stream.write_all(rest);
            }
            _ => stream.write_all(body)?,
        }
        let piece = vec![b'.'; PIECE_BYTES];
        while fault == Some(&StorageFault::Endless) && !self.ended.load(Ordering::Relaxed) {
            stream.write_all(&piece)?;
        }
        Ok(())
    }

    fn wait_for_release(&self) {
        let mut released = locked(&self.released);
        while !*released && !self.ended.load(Ordering::Relaxed) {
            let waited = self.release.wait_timeout(released, HOLD_POLL);
            released = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The list of a repository, with a small file beside the large ones.
fn listing(files: &[&HubSimFile]) -> Vec<u8> {
    let mut siblings = vec![json!({
        "rfilename": "README.md", "size": 512, "blobId": COMMIT,
    })];
    siblings.extend(files.iter().map(|file| {
        json!({
            "rfilename": file.path,
            "size": file.bytes(),
            "blobId": COMMIT,
            "lfs": { "sha256": file.sha256(), "size": file.bytes(), "pointerSize": 135 },
        })
    }));
    let gated = files.iter().any(|file| file.gated);
    let repository = files.first().map(|file| file.repository.as_str());
    let answer = json!({
        "_id": "65a1", "id": repository, "modelId": repository, "private": false,
        "gated": if gated { Value::from("manual") } else { Value::from(false) },
        "sha": COMMIT, "tags": ["gguf", "text-generation", "license:apache-2.0"],
        "cardData": { "license": "apache-2.0" }, "siblings": siblings,
    });
    answer.to_string().into_bytes()
}

fn refuse(stream: &mut TcpStream, status: u16, code: &str, message: &str) -> io::Result<()> {
    let code = match code {
        "" => String::new(),
        code => format!("X-Error-Code: {code}\r\n"),
    };
    let headers = format!("{code}X-Error-Message: {message}\r\nContent-Type: application/json\r\n");
    let body = json!({ "error": message }).to_string();
    reply(
        stream,
        &format!("{status} Refused"),
        &headers,
        body.as_bytes(),
    )
}

fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

fn read_head(stream: &TcpStream) -> io::Result<Option<Head>> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let Some(first) = lines.next().transpose()? else {
        return Ok(None);
    };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut head = Head {
        path,
        range: None,
        authorization: None,
    };
    for line in lines.take(HEAD_LINES_MAX) {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = Some(value.trim().to_owned());
        match name.to_ascii_lowercase().as_str() {
            "range" => head.range = value,
            "authorization" => head.authorization = value,
            _ => {}
        }
    }
    Ok(Some(head))
}
