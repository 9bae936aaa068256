//! Fault 47: an address that others can reach.

use crate::faults::rig::Rig;
use crate::faults::trial::Trial;

#[test]
fn f47_bind_beyond_loopback() {
    let trial = Trial::begin(47);
    let mut starts = 0;
    let mut tried = 0;
    let addresses = [
        "0.0.0.0:0",
        "[::]:0",
        "0.0.0.0:7717",
        "192.0.2.7:7717",
        "[2001:db8::7]:7717",
        "169.254.1.1:0",
        "[::ffff:0.0.0.0]:0",
    ];
    for address in addresses {
        for way in [
            "flag",
            "config",
            "environment",
            "pryx",
            "vargos",
            "looprunner",
        ] {
            tried += 1;
            starts += usize::from(starts_at(way, address));
        }
    }
    for odd in [
        "0.0.0.0",
        "*:7717",
        ":7717",
        "0:7717",
        "::",
        "example.test:7717",
    ] {
        tried += 1;
        let mut rig = Rig::new();
        rig.arguments(&["--listen", odd]);
        starts += usize::from(rig.try_start().is_ok());
    }
    assert_eq!(starts, 0, "of {tried}");
    trial.figure("starts", format_args!("{starts}/{tried}"));
}

/// Whether the daemon starts when told `address` in this way; it must say what to do instead.
fn starts_at(way: &str, address: &str) -> bool {
    let mut rig = Rig::new();
    std::fs::create_dir_all(rig.home()).expect("a home");
    let config = rig.home().join("config.toml");
    match way {
        "flag" => {
            rig.arguments(&["--listen", address]);
        }
        "environment" => {
            rig.arguments(&[]).env("HOB_LISTEN_ADDRESS", address);
        }
        "pryx" => {
            rig.arguments(&[]).env("PRYX_LISTEN_ADDR", address);
        }
        "config" => {
            rig.arguments(&[]);
            std::fs::write(&config, format!("[listen]\naddress = \"{address}\"\n"))
                .expect("a config");
        }
        _ => {
            std::fs::write(&config, format!("[listen]\n{way} = \"{address}\"\n"))
                .expect("a config");
        }
    }
    let Err(ended) = rig.try_start() else {
        return true;
    };
    assert!(!ended.status.success(), "{way} {address}");
    assert!(
        ended.stderr.contains("ssh -L"),
        "{way} {address}: it says how: {}",
        ended.stderr
    );
    false
}
