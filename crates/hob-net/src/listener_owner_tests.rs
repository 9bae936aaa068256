//! Trusted and untrusted listeners.

use super::*;
use std::net::TcpListener;

const US: u32 = 1_000;
const OTHER: u32 = 4_000_000;

fn trusted() -> TrustedUsers {
    TrustedUsers {
        anyone: false,
        ids: BTreeSet::from([ROOT, US]),
    }
}

/// A row as the kernel writes it; `address` is `IP:PORT` or `[IP]:PORT`.
fn row(address: &str, state: &str, user: u32) -> String {
    let address: std::net::SocketAddr = address.parse().expect("an address");
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().expect("four bytes");
        format!("{:08X}", u32::from_ne_bytes(bytes))
    };
    let bytes = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let hex: String = bytes.chunks(4).map(word).collect();
    let none = "0".repeat(hex.len());
    let port = address.port();
    format!(
        "   0: {hex}:{port:04X} {none}:0000 {state} 00000000:00000000 00:00000000 00000000 {user}        0 24871 1 0000000000000000 100 0 0 10 0\n"
    )
}

fn judged(rows: &[String], url: &str) -> Result<(), UntrustedListener> {
    let header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
    let (addresses, port) = local_target(url).expect("it is of this machine");
    let rows = format!("{header}{}", rows.concat());
    check_owners(&rows, &addresses, port, &trusted())
}

fn foreign() -> Result<(), UntrustedListener> {
    Err(UntrustedListener::Foreign {
        port: 11_434,
        user: OTHER.to_string(),
    })
}

#[test]
fn a_row_that_could_get_the_connection_decides() {
    let nobody = Err(UntrustedListener::NotListening { port: 11_434 });
    for (address, url, takes) in [
        ("127.0.0.1:11434", "http://127.0.0.1:11434", true),
        ("127.0.0.1:11434", "http://127.1:11434/v1", true),
        ("127.0.0.1:11434", "http://0x7f000001:11434", true),
        ("127.0.0.1:11434", "http://localhost:11434", true),
        ("127.0.0.1:11434", "http://LOCALHOST.:11434", true),
        ("127.0.0.1:11434", "http://0.0.0.0:11434", true),
        ("127.0.0.1:11434", "http://[::]:11434", true),
        ("127.0.0.1:11434", "http://[::ffff:127.0.0.1]:11434", true),
        ("0.0.0.0:11434", "http://127.0.0.1:11434", true),
        ("[::]:11434", "http://127.0.0.1:11434", true),
        ("[::]:11434", "http://[::1]:11434", true),
        ("[::1]:11434", "http://[::1]:11434", true),
        ("[::1]:11434", "http://localhost:11434", true),
        ("[::ffff:127.0.0.1]:11434", "http://127.0.0.1:11434", true),
        ("[::1]:11434", "http://127.0.0.1:11434", false),
        ("0.0.0.0:11434", "http://[::1]:11434", false),
        ("127.0.0.2:11434", "http://127.0.0.1:11434", false),
        ("127.0.0.1:11435", "http://127.0.0.1:11434", false),
    ] {
        let at = |user| judged(&[row(address, "0A", user)], url);
        let (ours, theirs) = if takes {
            (Ok(()), foreign())
        } else {
            (nobody.clone(), nobody.clone())
        };
        assert_eq!(at(US), ours, "{address} {url}");
        assert_eq!(at(ROOT), ours, "{address} {url}");
        assert_eq!(at(OTHER), theirs, "{address} {url}");
    }
    // Connections are no listeners.
    let established = row("127.0.0.1:11434", "01", US);
    assert_eq!(judged(&[established], "http://127.0.0.1:11434"), nobody);
}

#[test]
fn one_stranger_among_those_who_could_get_it_is_enough() {
    let url = "http://127.0.0.1:11434";
    let ours = row("127.0.0.1:11434", "0A", US);
    let theirs = row("[::]:11434", "0A", OTHER);
    assert_eq!(judged(&[ours.clone(), theirs.clone()], url), foreign());
    assert_eq!(judged(&[theirs, ours.clone()], url), foreign());
    let aside = row("[::1]:11434", "0A", OTHER);
    assert_eq!(judged(&[ours.clone(), aside.clone()], url), Ok(()));
    // A name may lead to either.
    assert_eq!(judged(&[ours, aside], "http://localhost:11434"), foreign());
}

#[test]
fn what_is_not_on_this_machine_is_not_judged() {
    for url in [
        "https://api.example.com/v1",
        "http://192.168.1.5:11434",
        "http://[2001:db8::1]:80",
        "not a url",
    ] {
        assert_eq!(local_target(url), None, "{url}");
        assert_eq!(check_listener(url, &TrustedUsers::ourselves()), Ok(()));
    }
}

#[test]
fn a_listener_of_our_own_passes_and_nothing_does_not() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let url = format!("http://127.0.0.1:{port}");
    assert_eq!(check_listener(&url, &TrustedUsers::ourselves()), Ok(()));
    drop(listener);
    if cfg!(target_os = "linux") {
        let gone = check_listener(&url, &TrustedUsers::ourselves());
        assert_eq!(gone, Err(UntrustedListener::NotListening { port }));
    }
}

#[test]
fn users_are_named_by_name_number_or_all() {
    let users =
        "root:x:0:0::/root:/bin/sh\nollama:x:998:998::/x:/bin/false\nbroken\n7:x:9:9::/:/\n";
    assert_eq!(id_of("ollama", users), Some(998));
    assert_eq!(id_of("998", users), Some(998));
    assert_eq!(id_of("7", users), Some(9), "a name that is a number");
    assert_eq!(id_of("nobody-here", users), None);
    assert_eq!(name_of(998, users), Some("ollama"));
    assert_eq!(name_of(12, users), None);
    let named = TrustedUsers::with_users(&["4000000".to_owned()]);
    assert!(named.trusts(OTHER) && !named.trusts(OTHER + 1));
    assert!(TrustedUsers::with_users(&["*".to_owned()]).trusts(OTHER));
    let ourselves = TrustedUsers::with_users(&[]);
    assert_eq!(ourselves, TrustedUsers::ourselves());
    assert!(ourselves.trusts(rustix::process::geteuid().as_raw()) && !ourselves.trusts(OTHER));
}
