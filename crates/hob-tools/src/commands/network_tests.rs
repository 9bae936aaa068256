//! What is asked for a network, and what is refused before anybody is asked.

use super::*;

fn named(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|&host| host.to_owned()).collect()
}

#[test]
fn a_person_is_told_how_far_a_network_reaches() {
    let question = |grant, hosts: &[&str]| {
        let network = CommandNetwork::new(grant, Some(&named(hosts)));
        network.expect("is sound").question()
    };
    assert_eq!(question(NetworkGrant::Off, &[]), "off");
    let any = question(NetworkGrant::Proxy, &[]);
    assert!(any.starts_with("ON") && any.contains("any host"), "{any}");
    let some = question(NetworkGrant::Proxy, &["a.test", "*.b.test"]);
    assert!(some.contains("only a.test, *.b.test"), "{some}");
    let host = question(NetworkGrant::Host, &[]);
    assert!(
        host.contains("can also reach services on this machine"),
        "{host}"
    );
}

#[test]
fn hosts_go_with_the_proxy_alone() {
    let hosts = named(&["a.test"]);
    for grant in [NetworkGrant::Off, NetworkGrant::Host] {
        let ToolRefusal(why) = CommandNetwork::new(grant, Some(&hosts)).expect_err("is refused");
        assert!(why.contains("`hosts` limits"), "{why}");
    }
    let network = CommandNetwork::new(NetworkGrant::Proxy, Some(&hosts)).expect("is sound");
    assert_eq!(network.access(), NetworkAccess::Proxy);
    assert_eq!(network.hosts(), hosts);
    let ToolRefusal(why) =
        CommandNetwork::new(NetworkGrant::Proxy, Some(&named(&["*"]))).expect_err("any");
    assert!(why.contains("`hosts` takes"), "{why}");
}
