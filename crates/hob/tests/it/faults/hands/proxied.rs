//! Commands whose network leads through hob's proxy (faults 68 and 69): what they reach is opened by
//! name, and hob itself never is.

use super::ear::Ear;
use super::tools::{Said, Tools, processes_with};
use crate::faults::rig::eventually;
use serde_json::json;
use std::fs;
use std::path::Path;

/// Ways to go through the proxy.
const WAYS: &[&str] = &[
    "curl -sS -g -m 10",
    "curl -sS -g -m 10 --proxytunnel",
    "curl -sS -g -m 10 -x socks5h://127.0.0.1:3128",
    "curl -sS -g -m 10 -x socks5://127.0.0.1:3128",
    "wget -q -O - -T 10 -t 1",
];

fn online(tools: &mut Tools, command: &str, hosts: &[&str]) -> Said {
    let mut args = json!({ "command": command, "network": true });
    if !hosts.is_empty() {
        args["hosts"] = json!(hosts);
    }
    tools.call("exec", &args)
}

/// Hob's own port and the listeners that were opted into, with every port of loopback opened for
/// pages: the tries.
pub(super) fn own_listeners(level: &str) -> usize {
    let settings = "[listen]\nvargos = \"127.0.0.1:0\"\nagentloop = \"127.0.0.1:0\"\n\
         looprunner = \"127.0.0.1:0\"\n[web]\nprivate_hosts = [\"127.0.0.1\", \"localhost\"]\n";
    let mut tools = Tools::behind(level, settings, &[]);
    let status = tools.rig.peer().must("daemon.status", &json!({}));
    let listeners = status["listeners"].as_array().expect("a list").clone();
    let lines = listeners.iter().filter_map(|line| line.as_str());
    let addresses = lines.filter_map(|line| line.split_once(' '));
    let mut ports: Vec<u16> = addresses
        .filter_map(|(_, address)| address.rsplit_once(':')?.1.parse().ok())
        .collect();
    ports.push(tools.rig.port());
    ports.sort_unstable();
    ports.dedup();
    assert!(ports.len() >= 4, "{listeners:?}");
    let mut tries = 0;
    for port in ports {
        let direct = format!("timeout 3 bash -c 'echo > /dev/tcp/127.0.0.1/{port}'");
        let said = online(&mut tools, &direct, &[]);
        assert_ne!(said.metadata["exitCode"], 0, "{level}: {port}: {said:?}");
        tries += 1;
        for host in ["127.0.0.1", "localhost"] {
            for way in WAYS {
                tries += 1;
                let said = online(
                    &mut tools,
                    &format!("{way} http://{host}:{port}/health"),
                    &[],
                );
                let text = &said.text;
                assert!(
                    !text.contains("\"status\""),
                    "{level}: {way} {host}: {said:?}"
                );
                // Without a name server a program cannot look `localhost` up by itself.
                if !way.contains("socks5:") {
                    assert!(
                        text.contains("hob itself"),
                        "{level}: {way} {host}: {said:?}"
                    );
                }
            }
        }
    }
    let ear = Ear::open();
    for way in WAYS {
        let said = online(&mut tools, &format!("{way} {}", ear.url("/page")), &[]);
        assert!(
            said.text.contains("inside secrets"),
            "control, {level}: {way}: {said:?}"
        );
    }
    tries
}

/// Spellings of this machine, its network and its cloud, through every way of the proxy: the tries.
pub(super) fn inward(level: &str, hosts: &[&str]) -> usize {
    let (closed, opened) = (Ear::open(), Ear::open());
    let settings = format!("[web]\nprivate_hosts = [\"127.0.0.1:{}\"]\n", opened.port);
    let mut tools = Tools::behind(level, &settings, &[]);
    fs::write(tools.workspace.join("hosts.txt"), hosts.join("\n")).expect("a list");
    for way in WAYS {
        let port = closed.port;
        let command = format!(
            "while read -r host; do {way} \"http://$host:{port}/\"; done < hosts.txt; true"
        );
        let said = online(&mut tools, &command, &[]);
        assert_eq!(said.metadata["exitCode"], 0, "{level}: {said:?}");
        assert!(
            !said.text.contains("inside secrets"),
            "{level}: {way}: {said:?}"
        );
        assert_eq!(closed.hits(), 0, "{level}: {way} reached the ear: {said:?}");
    }
    // The refusal names the host, and the setting that would open it.
    let said = online(&mut tools, &format!("curl -s {}", closed.url("/")), &[]);
    let named = format!("127.0.0.1:{}", closed.port);
    assert!(said.text.contains("web.private_hosts"), "{level}: {said:?}");
    assert_eq!(
        said.metadata["refusedHosts"],
        json!([named]),
        "{level}: {said:?}"
    );
    limited(level, &mut tools, &opened);
    for way in WAYS {
        let said = online(&mut tools, &format!("{way} {}", opened.url("/page")), &[]);
        assert!(
            said.text.contains("inside secrets"),
            "control, {level}: {way}: {said:?}"
        );
    }
    ends_with_the_daemon(level, tools);
    hosts.len() * WAYS.len()
}

/// A grant that names hosts reaches those alone, even what a person opened.
fn limited(level: &str, tools: &mut Tools, opened: &Ear) {
    let fetch = format!("curl -s {}", opened.url("/page"));
    let before = opened.hits();
    let said = online(tools, &fetch, &["example.org", "*.example.org"]);
    assert!(said.text.contains("`hosts`"), "{level}: {said:?}");
    assert_eq!(opened.hits(), before, "{level}: {said:?}");
    let said = online(tools, &fetch, &["127.0.0.1"]);
    assert!(
        said.text.contains("inside secrets"),
        "control, {level}: {said:?}"
    );
}

/// A daemon that is killed leaves nothing of such a command behind, and no socket.
fn ends_with_the_daemon(level: &str, mut tools: Tools) {
    let mark = format!("hob-proxied-{level}-{}", std::process::id());
    let entries = |home: &Path| fs::read_dir(home.join("run")).map_or(0, Iterator::count);
    let before = entries(tools.rig.home());
    let command = format!("exec -a {mark} sleep 1000");
    let args = json!({ "action": "start", "command": command, "network": true });
    let said = tools.call("process", &args);
    assert!(
        !said.failed && said.text.contains("through hob's proxy"),
        "{said:?}"
    );
    eventually("it runs", || processes_with(&mark) > 0);
    assert_eq!(
        entries(tools.rig.home()),
        before,
        "the proxy has no socket file"
    );
    tools.rig.kill();
    eventually("it ended with the daemon", || processes_with(&mark) == 0);
}
