//! The path of Archy's socket, its owner, and other files at that path.

use super::{Stage, ask, listening};
use crate::house::House;
use crate::vargos::as_nobody;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

async fn start(socket: &Path) -> House {
    let house = House::with(&listening(socket, ""), Some("127.0.0.1:0")).await;
    house.expect("the house opens whatever is at the place")
}

fn told(house: &House) -> String {
    let listeners = house.gateway.listeners();
    let ours = listeners.iter().find_map(|it| it.strip_prefix("archy "));
    ours.expect("it is listed").to_owned()
}

#[tokio::test]
async fn it_is_off_until_it_is_wanted() {
    let house = House::new().await;
    let listeners = house.gateway.listeners();
    assert!(
        !listeners.iter().any(|it| it.starts_with("archy")),
        "{listeners:?}"
    );
    house.stop().await;
}

#[tokio::test]
async fn it_is_private_and_goes_with_the_house() {
    let stage = Stage::new().await;
    let mode = std::fs::metadata(&stage.socket)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(told(&stage.house), stage.socket.display().to_string());
    let (socket, house) = (stage.socket.clone(), stage.house);
    house.stop().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_dead_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("archy.sock");
    // What a daemon that was killed leaves behind.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let house = start(&socket).await;
    assert_eq!(told(&house), socket.display().to_string());
    assert_eq!(
        ask(&socket, "nothing", json!({})).await["error"],
        "Unknown action"
    );
    house.stop().await;
}

#[tokio::test]
async fn whatever_else_is_there_stays_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (file, link, living) = (at("file"), at("link"), at("living"));
    std::fs::write(&file, "mine").unwrap();
    let listener = std::os::unix::net::UnixListener::bind(&living).unwrap();
    std::os::unix::fs::symlink(&living, &link).unwrap();
    let missing = at("no/such/folder");
    let long = at(&"n".repeat(150));
    for (place, why) in [
        (&file, "something that is not a socket is at"),
        (&link, "something that is not a socket is at"),
        (&living, "another program listens at"),
        (&missing, "cannot be made"),
        (&long, "cannot be made"),
    ] {
        let house = start(place).await;
        let told = told(&house);
        assert!(
            told.starts_with("not open: ") && told.contains(why),
            "{told}"
        );
        house.stop().await;
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    drop(listener);
    assert!(living.exists(), "the place of another is left alone");
}

#[tokio::test]
async fn what_took_the_place_later_is_not_removed() {
    let stage = Stage::new().await;
    std::fs::remove_file(&stage.socket).unwrap();
    std::fs::write(&stage.socket, "another's").unwrap();
    let socket = stage.socket.clone();
    let Stage { house, _folder, .. } = stage;
    house.stop().await;
    assert_eq!(std::fs::read_to_string(socket).unwrap(), "another's");
}

#[tokio::test]
async fn another_user_is_not_heard() {
    // Only root can become another user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let stage = Stage::new().await;
    // Even where the mode would let them, the kernel's word decides.
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(stage.socket.parent().unwrap(), open.clone()).unwrap();
    std::fs::set_permissions(&stage.socket, open).unwrap();
    let socket = stage.socket.clone();
    let knock = move || {
        use std::io::{Read, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).ok()?;
        let _ = stream.write_all(br#"{"action":"execute","data":{"command":"id"}}"#);
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        Some(text)
    };
    let ours = tokio::task::spawn_blocking(knock.clone()).await.unwrap();
    assert!(ours.unwrap().contains("Executed"));
    let theirs = tokio::task::spawn_blocking(|| as_nobody(knock))
        .await
        .unwrap();
    assert_eq!(
        theirs.as_deref(),
        Some(""),
        "they connect and are not heard"
    );
    assert_eq!(stage.rooms.typed("archy_session"), ["id"]);
    stage.house.stop().await;
}
