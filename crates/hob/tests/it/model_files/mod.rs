//! `hob model pull` from a hub on loopback, as a person and a script use it.

mod interrupted;
mod refused;

use crate::support::{House, HouseBuilder, wait_until};
use hob_sim::{HubSimFile, ModelHub};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const REPOSITORY: &str = "lab/model-GGUF";
const SOURCE: &str = "hf:lab/model-GGUF";
const NAME: &str = "model-Q4_K_M";

/// A `llama-server` as small as can be: it answers with the name and the size of its model.
pub(crate) const SERVER: &str = r#"#!/usr/bin/env python3
import http.server, json, os, sys
def flag(name):
    return sys.argv[sys.argv.index(name) + 1]
SAID = "%s of %d bytes" % (flag("--alias"), os.path.getsize(flag("--model")))
class Model(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "x"}]}')
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for delta, finish in (({"content": SAID}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
http.server.ThreadingHTTPServer(("127.0.0.1", int(flag("--port"))), Model).serve_forever()
"#;

/// A hub with one model of this size.
fn hub(bytes: usize) -> ModelHub {
    ModelHub::start(vec![model(REPOSITORY, "model-Q4_K_M.gguf", bytes)], None)
}

/// A file that begins as a GGUF and differs everywhere.
fn model(repository: &str, path: &str, bytes: usize) -> HubSimFile {
    let mut content = b"GGUF".to_vec();
    content.extend((0..=250_u8).cycle().take(bytes.saturating_sub(4)));
    HubSimFile::new(repository, path, content)
}

/// A house that knows the hub and has a server for GGUF files; no model server of this machine is
/// looked for. The folder holds that server.
fn builder(hub: &ModelHub) -> (tempfile::TempDir, HouseBuilder) {
    let bin = tempfile::tempdir().expect("a folder");
    let program = bin.path().join("llama-server");
    std::fs::write(&program, SERVER).expect("a file");
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, runnable).expect("is set");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.path().display());
    let builder = House::builder()
        .config("[llm]\nservers = []\n")
        .env("PATH", &path)
        .env("HF_ENDPOINT", &hub.endpoint());
    (bin, builder)
}

fn rpc(house: &House, method: &str, params: &Value) -> Value {
    let done = house.hob(&["--json", "rpc", method, &params.to_string()]);
    serde_json::from_str(&done.success()).expect("JSON")
}

/// The only download.
fn download(house: &House) -> Value {
    rpc(house, "model.downloads", &json!({}))["downloads"][0].clone()
}

/// The ranges that the storage was asked for.
fn ranges(hub: &ModelHub) -> Vec<String> {
    let requests = hub.requests().into_iter().filter(|it| it.to_storage);
    requests.filter_map(|it| it.range).collect()
}

#[test]
fn a_model_is_pulled_becomes_local_answers_and_is_deleted() {
    let hub = hub(300 * 1024);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    let pulled = house.hob(&["model", "pull", SOURCE, "--yes"]);
    assert!(pulled.stderr.contains("Licence: apache-2.0"), "{pulled:?}");
    assert!(pulled.stderr.contains("300.0 KiB"), "{pulled:?}");
    let said = pulled.success();
    assert!(
        said.contains("model-Q4_K_M is here and is `local` now."),
        "{said}"
    );

    let found = download(&house);
    assert_eq!(
        (&found["name"], &found["state"], &found["local"]),
        (&json!(NAME), &json!("complete"), &json!(true)),
        "{found}"
    );
    let file = found["path"].as_str().expect("a path").to_owned();
    assert!(
        Path::new(&file).starts_with(house.home().join("models")),
        "{file}"
    );
    let config = std::fs::read_to_string(house.home().join("config.toml")).expect("is there");
    assert!(config.contains(&file), "{config}");

    wait_until("the model is offered", || {
        let listed = house.hob(&["model", "list"]).success();
        listed.contains("llm/model-Q4_K_M")
    });
    let answered = house.hob(&["ask", "--model", "local", "who are you?"]);
    assert_eq!(answered.success(), "model-Q4_K_M of 307200 bytes\n");

    // Again: nothing is fetched, and it needs no consent and no hub.
    let before = hub.requests().len();
    house.hob(&["model", "pull", SOURCE]).success();
    assert_eq!(hub.requests().len(), before);

    let gone = rpc(&house, "model.delete", &json!({ "name": NAME }));
    assert_eq!(gone["wasLocal"], true, "{gone}");
    assert!(gone["freedBytes"].as_u64() >= Some(300 * 1024), "{gone}");
    assert!(!Path::new(&file).exists());
    assert_eq!(download(&house), Value::Null);
    let config = std::fs::read_to_string(house.home().join("config.toml")).expect("is there");
    assert!(!config.contains(&file), "{config}");
    let again = house.hob(&["model", "delete", NAME]);
    assert_eq!(again.code, Some(5), "{again:?}");
    let audit = house.hob(&["audit", "list"]).success();
    assert!(
        audit.contains("model.pull") && audit.contains("model.delete"),
        "{audit}"
    );
}

#[test]
fn a_second_model_takes_over_and_the_running_server_is_replaced() {
    let hub = ModelHub::start(
        vec![
            model(REPOSITORY, "model-Q4_K_M.gguf", 50_000),
            model(REPOSITORY, "model-Q8_0.gguf", 60_000),
        ],
        None,
    );
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    for (source, said) in [
        (SOURCE.to_owned(), "model-Q4_K_M of 50000 bytes\n"),
        (format!("{SOURCE}:q8_0"), "model-Q8_0 of 60000 bytes\n"),
    ] {
        house.hob(&["model", "pull", &source, "--yes"]).success();
        wait_until("the new model answers", || {
            house
                .hob(&["ask", "--model", "local", "who are you?"])
                .stdout
                == said
        });
    }
    let listed = house.hob(&["model", "downloads"]).success();
    assert!(listed.contains("model-Q8_0"), "{listed}");
    assert!(listed.contains("hf:lab/model-GGUF:q8_0"), "{listed}");
}

#[test]
fn with_json_every_step_is_a_line_and_nothing_is_asked() {
    let hub = hub(200_000);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    let planned = house.hob(&["--json", "model", "pull", SOURCE]);
    assert_eq!(planned.code, Some(2), "{planned:?}");
    let first = planned.stdout.lines().next().expect("a line");
    let plan: Value = serde_json::from_str(first).expect("JSON");
    assert_eq!(plan["plan"]["bytes"], 200_000, "{plan}");
    assert_eq!(plan["progress"], Value::Null, "{plan}");
    assert!(ranges(&hub).is_empty(), "a plan fetches nothing");
    let pulled = house.hob(&["--json", "model", "pull", SOURCE, "--yes"]);
    let text = pulled.success();
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["event"], "model.pull.progress", "{last}");
    assert_eq!(last["payload"]["state"], "complete", "{last}");
    assert_eq!(last["payload"]["bytesDone"], 200_000, "{last}");
}

#[test]
fn the_catalogue_is_listed_with_what_fits() {
    let house = House::start();
    let listed = house.hob(&["model", "catalog"]).success();
    assert!(
        listed.contains("qwen3-4b") && listed.contains("Apache-2.0"),
        "{listed}"
    );
    let listed = rpc(&house, "model.catalog", &json!({}));
    assert!(listed["memoryBytes"].as_u64() > Some(0), "{listed}");
    let models = listed["models"].as_array().expect("a list");
    assert!(models.iter().all(|it| it["fits"].is_boolean()), "{listed}");
}

#[test]
fn a_running_ollama_fetches_and_is_local() {
    let ollama = ollama();
    let house = House::builder()
        .config(&format!("[llm]\nservers = [\"{ollama}\"]\n"))
        .start();
    let pulled = house.hob(&["model", "pull", "ollama:qwen3:4b", "--yes"]);
    let said = pulled.success();
    assert!(
        said.contains("qwen3-4b is here and is `local` now."),
        "{said}"
    );
    let aliases = rpc(&house, "model.list", &json!({ "namesOnly": true }))["aliases"].clone();
    let aliases = aliases.as_array().expect("a list").clone();
    let local = aliases.iter().find(|it| it["alias"] == "local");
    assert_eq!(local.expect("an alias")["models"], json!(["llm/qwen3:4b"]));
    let missing = house.hob(&["model", "pull", "ollama:nothing", "--yes"]);
    assert!(
        missing.stderr.contains("Ollama finds no model 'nothing'"),
        "{missing:?}"
    );
    assert_eq!(missing.code, Some(1), "{missing:?}");
}

/// A scripted Ollama; returns its address.
fn ollama() -> std::net::SocketAddr {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {
                let last = head.lines().last().unwrap_or_default().to_ascii_lowercase();
                if let Some(text) = last.strip_prefix("content-length:") {
                    length = text.trim().parse().expect("a length");
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let body = String::from_utf8_lossy(&body).into_owned();
            let answer = match head.split(' ').nth(1).unwrap_or_default() {
                "/api/version" => r#"{"version":"0.12.0"}"#.to_owned(),
                "/v1/models" => {
                    r#"{"object":"list","data":[{"id":"llama3:8b","owned_by":"library"}]}"#
                        .to_owned()
                }
                "/api/pull" if body.contains("qwen3:4b") => [
                    r#"{"status":"pulling manifest"}"#,
                    r#"{"status":"pulling aa","digest":"sha256:aa","total":1000,"completed":1000}"#,
                    r#"{"status":"success"}"#,
                ]
                .join("\n"),
                "/api/pull" => r#"{"error":"pull model manifest: file does not exist"}"#.to_owned(),
                _ => "{}".to_owned(),
            };
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    address
}
