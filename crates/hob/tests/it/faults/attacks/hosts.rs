//! Fault 40: DNS rebinding. The right address under a wrong name.

use crate::faults::http;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use crate::faults::websocket::UPGRADE;

#[test]
fn f40_dns_rebinding() {
    let trial = Trial::begin(40);
    let mut rig = Rig::new();
    rig.env("HOB_LISTEN_LOOPRUNNER", "127.0.0.1:0").start();
    let mut tried = 0;
    let mut accepted = Vec::new();
    let looprunner = rig.listener("looprunner");
    let hostile = hostile_requests(&rig).into_iter();
    let hostile = hostile.map(|request| (rig.port(), request));
    for (port, request) in hostile.chain(loop_requests(looprunner)) {
        tried += 1;
        // A connection closed without an answer is a refusal too.
        let Ok(reply) = http::exchange(port, request.as_bytes()) else {
            continue;
        };
        if ![400, 403].contains(&reply.status) {
            accepted.push(format!("{} for {request:?}", reply.status));
        }
    }
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
    for path in ["/health", "/ready"] {
        let request = plain("GET", path, &[&host(rig.port()), &bearer(&rig)]);
        let reply = http::exchange(rig.port(), request.as_bytes()).expect("an answer");
        assert_eq!(reply.status, 200, "the right Host is taken: {reply:?}");
    }
    trial.figure("accepted", format_args!("{}/{tried}", accepted.len()));
}

fn host(port: u16) -> String {
    format!("Host: 127.0.0.1:{port}")
}

fn bearer(rig: &Rig) -> String {
    format!("Authorization: Bearer {}", rig.token())
}

fn plain(method: &str, target: &str, lines: &[&str]) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n{}\r\n\r\n",
        lines.join("\r\n")
    )
}

/// Every wrong host with every door, always with the right token: only the name is wrong.
fn hostile_requests(rig: &Rig) -> Vec<String> {
    let port = rig.port();
    let right = host(port);
    let bearer = bearer(rig);
    let mut requests = Vec::new();
    for wrong in wrong_hosts(port) {
        let line = format!("Host: {wrong}");
        requests.push(plain("GET", "/health", &[&line]));
        requests.push(plain("POST", "/api/rpc/session.list", &[&line, &bearer]));
        let mut upgrade = format!("GET /ws HTTP/1.1\r\n{line}\r\n{bearer}\r\n");
        upgrade.push_str(&UPGRADE.join("\r\n"));
        upgrade.push_str("\r\n\r\n");
        requests.push(upgrade);
    }
    for path in ["/health", "/metrics"] {
        requests.extend([
            // No Host, two of them, an absolute target that disagrees, and proxies' words.
            plain("GET", path, &[&bearer]),
            format!("GET {path} HTTP/1.0\r\n{bearer}\r\n\r\n"),
            plain("GET", path, &[&right, "Host: evil.test", &bearer]),
            plain("GET", path, &["Host: evil.test", &right, &bearer]),
            plain("GET", path, &[&right, &right, &bearer]),
            plain(
                "GET",
                &format!("http://evil.test{path}"),
                &[&right, &bearer],
            ),
            plain(
                "GET",
                &format!("http://evil.test:{port}{path}"),
                &[&right, &bearer],
            ),
            plain(
                "GET",
                &format!("http://127.0.0.1:{port}{path}"),
                &["Host: evil.test", &bearer],
            ),
            plain(
                "GET",
                path,
                &[
                    "Host: evil.test",
                    &format!("X-Forwarded-Host: 127.0.0.1:{port}"),
                    &bearer,
                ],
            ),
            plain(
                "GET",
                path,
                &[
                    "Host: evil.test",
                    &format!("Forwarded: host=127.0.0.1:{port}"),
                    &bearer,
                ],
            ),
        ]);
    }
    requests
}

/// The listener where no token is needed: only the name keeps a rebound page away.
fn loop_requests(port: u16) -> Vec<(u16, String)> {
    let mut requests = Vec::new();
    for wrong in wrong_hosts(port) {
        let line = format!("Host: {wrong}");
        requests.push((port, plain("GET", "/api/state", &[&line])));
        requests.push((port, plain("POST", "/api/start", &[&line])));
    }
    requests
}

fn wrong_hosts(port: u16) -> Vec<String> {
    let other = port ^ 1;
    let names = [
        "evil.test",
        "127.0.0.1.evil.test",
        "localhost.evil.test",
        "evil.test#127.0.0.1",
        "127.0.0.1.",
        "localhost.",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "[::1%25lo]",
        "::1",
        "user@127.0.0.1",
        "127.0.0.1@evil.test",
        "127.0.0.1%20",
        "127.0.0.1\t",
        "*",
        "",
    ];
    let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    hosts.extend([
        "evil.test".to_owned(),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{other}"),
        format!("127.0.0.1:0{port}"),
        format!("127.0.0.1:{port}/"),
        format!("127.0.0.1:{port},evil.test"),
        format!("127.0.0.1:{port} evil.test"),
        format!("http://127.0.0.1:{port}"),
        String::new(),
    ]);
    hosts
}
