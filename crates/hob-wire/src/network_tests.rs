//! Reading and writing network grants.

use super::*;
use serde_json::{from_value, json, to_value};

#[test]
fn three_values_go_both_ways_and_no_other_is_taken() {
    for (grant, value) in [
        (NetworkGrant::Off, json!(false)),
        (NetworkGrant::Proxy, json!(true)),
        (NetworkGrant::Host, json!("host")),
    ] {
        assert_eq!(to_value(grant).expect("is written"), value);
        let read: NetworkGrant = from_value(value).expect("is read");
        assert_eq!(read, grant);
    }
    for wrong in [
        json!("Host"),
        json!("true"),
        json!(1),
        json!(null),
        json!([]),
    ] {
        let refused = from_value::<NetworkGrant>(wrong.clone()).expect_err("is wrong");
        let says = refused.to_string();
        assert!(says.contains("true, false or \"host\""), "{wrong}: {says}");
    }
}

#[test]
fn a_stored_yes_is_the_proxy() {
    let work = json!({ "command": "x", "network": true });
    let work: crate::rooms::cron::CommandWork = from_value(work).expect("is read");
    assert_eq!(work.network, NetworkGrant::Proxy);
    let work: crate::rooms::cron::CommandWork =
        from_value(json!({ "command": "x" })).expect("is read");
    assert_eq!(work.network, NetworkGrant::Off);
}
