//! Fault 46, where hob looks for a model: another user of this machine listens on the port at which
//! Ollama is usually found, and answers as Ollama does.

use super::neighbours::as_nobody;
use crate::faults::rig::{Ended, Rig};
use crate::faults::trial::Trial;
use rustix::process::getuid;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What no other user may read.
const SECRET: &str = "the-words-of-fault-46";
const MODELS: &str = r#"{"object":"list","data":[{"id":"llama3:8b","owned_by":"library"}]}"#;
const VERSION: &str = r#"{"version":"0.12.0"}"#;
const ANSWER: &str = concat!(
    r#"data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Paris."},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

#[test]
fn f46_another_user_where_a_model_is_looked_for() {
    let trial = Trial::begin(46);
    if !getuid().is_root() {
        return trial.not_run("only root can become another user: run it as root");
    }
    let theirs = Server::start(0, true);
    let mut rig = rig_with(theirs.port);
    rig.start();
    let ended = ask(&rig);
    assert!(!ended.status.success(), "{ended:?}");
    let allowing = "hob config set services.llm.trusted_users nobody";
    for words in ["'nobody'", &theirs.port.to_string(), allowing] {
        assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    }
    assert_eq!(theirs.seen(), Vec::<String>::new(), "it was asked nothing");

    // As a service with a port of its own, too.
    let described = format!(
        "kind = \"http\"\ncommand = [\"sleep\", \"600\"]\nport = {}\nhealth = \"/api/version\"\n",
        theirs.port
    );
    let services = rig.home().join("services");
    std::fs::create_dir_all(&services).expect("a folder");
    std::fs::write(services.join("page.toml"), described).expect("a file");
    let reached = rig.peer().call("service.reach", &json!({ "name": "page" }));
    let refused = reached.expect("an answer").expect_err("it is refused");
    assert!(refused.to_string().contains("'nobody'"), "{refused}");
    assert_eq!(theirs.seen(), Vec::<String>::new(), "it was asked nothing");

    // A person may trust them, and is told who is asked, once.
    let set = ["config", "set", "services.llm.trusted_users", "nobody"];
    assert!(rig.hob(&set).status.success());
    let named = format!(
        "Asking Ollama 0.12.0 at 127.0.0.1:{} (model llama3:8b).",
        theirs.port
    );
    let ended = ask(&rig);
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stderr.contains(&named), "{ended:?}");
    let asked = theirs.seen();
    assert!(asked.iter().any(|text| text.contains(SECRET)), "{asked:?}");
    let ended = ask(&rig);
    assert!(ended.status.success(), "{ended:?}");
    assert!(!ended.stderr.contains("Asking"), "{ended:?}");
    drop(rig);
    let taken_over = our_own_is_used_until_it_is_taken_over();
    trial.figure(
        "prompts_to_another_user",
        format_args!("0/{}", 2 + taken_over),
    );
}

/// One of our own needs no setting; when it is gone and another user has its port, nothing more
/// goes there.
fn our_own_is_used_until_it_is_taken_over() -> usize {
    let ours = Server::start(0, false);
    let port = ours.port;
    let mut rig = rig_with(port);
    rig.start();
    let ended = ask(&rig);
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stderr.contains("Asking Ollama 0.12.0"), "{ended:?}");
    assert!(ours.seen().iter().any(|text| text.contains(SECRET)));
    ours.end();
    let theirs = Server::start(port, true);
    for _ in 0..3 {
        let ended = ask(&rig);
        assert!(!ended.status.success(), "{ended:?}");
        assert_eq!(theirs.seen(), Vec::<String>::new(), "{ended:?}");
    }
    3
}

fn rig_with(port: u16) -> Rig {
    let mut rig = Rig::new();
    std::fs::create_dir_all(rig.home()).expect("a folder");
    let config = format!("[llm]\nservers = [\"127.0.0.1:{port}\"]\n");
    std::fs::write(rig.home().join("config.toml"), config).expect("a file");
    // Nothing else that could answer, and nothing that could be installed.
    rig.env("PATH", "/nothing/here");
    rig
}

fn ask(rig: &Rig) -> Ended {
    rig.hob(&["ask", "--no-tools", SECRET])
}

/// A server that says it is Ollama, and keeps what it was sent.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    listener: TcpListener,
}

impl Server {
    /// Listens as ourselves or as another user.
    fn start(port: u16, as_another: bool) -> Server {
        let bind = move || TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let listener = if as_another { as_nobody(bind) } else { bind() };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (accepting, kept) = (listener.try_clone().expect("a copy"), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in accepting.incoming() {
                let Ok(stream) = stream else { return };
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        let port = listener.local_addr().expect("bound").port();
        Server {
            port,
            seen,
            listener,
        }
    }

    /// What came, requests with their bodies.
    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("sound").clone()
    }

    /// Frees the port.
    fn end(self) {
        rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both).expect("it listens");
        let port = self.port;
        drop(self);
        while TcpListener::bind(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Answers one request and closes.
fn serve(mut stream: TcpStream, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).is_ok_and(|read| read == 0) {
            break;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    let _ = reader.read_exact(&mut body);
    let text = format!("{head}{}", String::from_utf8_lossy(&body));
    kept.lock().expect("sound").push(text);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = match path {
        "/v1/models" => ("200 OK", "application/json", MODELS),
        "/api/version" => ("200 OK", "application/json", VERSION),
        "/v1/chat/completions" => ("200 OK", "text/event-stream", ANSWER),
        "/" => ("200 OK", "text/plain", "Ollama is running"),
        _ => ("404 Not Found", "text/plain", ""),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}
