//! URLs as people write them, and state files.

use super::*;

fn home() -> (tempfile::TempDir, Home) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let home = Home::at(root.path());
    home.ensure().expect("the home can be made");
    (root, home)
}

fn state(protocol: u32) -> String {
    serde_json::json!({
        "host": "127.0.0.1", "port": 7717, "pid": 4, "startedAt": 5,
        "socket": "/run/x.sock", "protocol": protocol, "version": "9.9.9",
    })
    .to_string()
}

#[test]
fn urls_name_a_host_and_never_a_secret() {
    let parsed = |text: &str| WebSocketUrl::parse(text).map(|url| (url.text, url.authority));
    let plain = parsed("ws://127.0.0.1:7717").expect("usable");
    assert_eq!(
        plain,
        ("ws://127.0.0.1:7717/ws".into(), "127.0.0.1:7717".into())
    );
    let whole = parsed("ws://[::1]:7717/ws").expect("usable");
    assert_eq!(whole, ("ws://[::1]:7717/ws".into(), "[::1]:7717".into()));
    let portless = parsed("ws://localhost/ws").expect("usable");
    assert_eq!(portless.1, "localhost:80");
    for bad in [
        "wss://a:1/ws",
        "http://a:1",
        "ws://",
        "ws://me:pw@a:1/ws",
        "ws://a:1/ws?token=x",
    ] {
        assert!(WebSocketUrl::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_home_without_a_state_file_has_no_daemon() {
    let (_root, home) = home();
    let error = DaemonTarget::home(&home).address().err();
    assert!(
        matches!(error, Some(ClientError::NotRunning { .. })),
        "{error:?}"
    );
}

#[test]
fn the_socket_is_where_the_state_file_says() {
    let (_root, home) = home();
    std::fs::write(home.state_file(), state(PROTOCOL_VERSION)).expect("writable");
    match DaemonTarget::home(&home).address() {
        Ok(DaemonAddress::Unix { path }) => assert_eq!(path, PathBuf::from("/run/x.sock")),
        _ => panic!("no unix address"),
    }
}

#[test]
fn another_protocol_is_named_with_both_versions() {
    let (_root, home) = home();
    // A future state file keeps only its protocol number in common with ours.
    for text in [state(7), r#"{"protocol":7,"version":"9.9.9"}"#.to_owned()] {
        std::fs::write(home.state_file(), text).expect("writable");
        let error = DaemonTarget::home(&home).address().err();
        let expected = ClientError::ProtocolSkew {
            ours: PROTOCOL_VERSION,
            theirs: 7,
            daemon: "9.9.9".to_owned(),
        };
        assert_eq!(error, Some(expected));
    }
}

#[test]
fn a_token_never_shows_in_debug_output() {
    let target = DaemonTarget::url("ws://127.0.0.1:1/ws", "s3cret").expect("usable");
    assert!(!format!("{target:?}").contains("s3cret"));
}
