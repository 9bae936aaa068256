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

/// A socket that listens on port 11434 of the address.
fn socket(address: &str, user: u32) -> ListeningSocket {
    let address: IpAddr = address.parse().expect("an address");
    ListeningSocket {
        address: address.to_canonical(),
        user,
        inode: 24_871,
    }
}

fn judged(sockets: &[ListeningSocket], url: &str) -> Result<(), UntrustedListener> {
    let (addresses, port) = local_target(url).expect("it is of this machine");
    check_owners(sockets, &addresses, port, &trusted())
}

fn foreign() -> Result<(), UntrustedListener> {
    Err(UntrustedListener::Foreign {
        port: 11_434,
        user: OTHER.to_string(),
    })
}

#[test]
fn a_socket_that_could_get_the_connection_decides() {
    let nobody = Err(UntrustedListener::NotListening { port: 11_434 });
    for (address, url, takes) in [
        ("127.0.0.1", "http://127.0.0.1:11434", true),
        ("127.0.0.1", "http://127.1:11434/v1", true),
        ("127.0.0.1", "http://0x7f000001:11434", true),
        ("127.0.0.1", "http://localhost:11434", true),
        ("127.0.0.1", "http://LOCALHOST.:11434", true),
        ("127.0.0.1", "http://0.0.0.0:11434", true),
        ("127.0.0.1", "http://[::]:11434", true),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]:11434", true),
        ("0.0.0.0", "http://127.0.0.1:11434", true),
        ("::", "http://127.0.0.1:11434", true),
        ("::", "http://[::1]:11434", true),
        ("::1", "http://[::1]:11434", true),
        ("::1", "http://localhost:11434", true),
        ("::ffff:127.0.0.1", "http://127.0.0.1:11434", true),
        ("::1", "http://127.0.0.1:11434", false),
        ("0.0.0.0", "http://[::1]:11434", false),
        ("127.0.0.2", "http://127.0.0.1:11434", false),
    ] {
        let at = |user| judged(&[socket(address, user)], url);
        let (ours, theirs) = if takes {
            (Ok(()), foreign())
        } else {
            (nobody.clone(), nobody.clone())
        };
        assert_eq!(at(US), ours, "{address} {url}");
        assert_eq!(at(ROOT), ours, "{address} {url}");
        assert_eq!(at(OTHER), theirs, "{address} {url}");
    }
    assert_eq!(judged(&[], "http://127.0.0.1:11434"), nobody);
}

#[test]
fn one_stranger_among_those_who_could_get_it_is_enough() {
    let url = "http://127.0.0.1:11434";
    let ours = socket("127.0.0.1", US);
    let theirs = socket("::", OTHER);
    assert_eq!(judged(&[ours, theirs], url), foreign());
    assert_eq!(judged(&[theirs, ours], url), foreign());
    let aside = socket("::1", OTHER);
    assert_eq!(judged(&[ours, aside], url), Ok(()));
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
