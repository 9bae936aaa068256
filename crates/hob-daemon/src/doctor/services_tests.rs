//! What is said of services.

use super::*;
use serde_json::json;

fn listed(state: &str, problems: &[&str]) -> ServiceListResult {
    let services = json!({
        "services": [{
            "name": "web", "state": state, "pid": null, "port": null, "restarts": 10,
            "detail": "It ended with code 3.\nboom", "lastExit": 3, "about": "A page",
            "installed": true, "installable": false, "autostart": false, "adopted": false,
        }],
        "problems": problems,
    });
    serde_json::from_value(services).expect("is a list")
}

#[test]
fn a_failed_service_and_a_wrong_file_are_named_with_what_to_do() {
    let found = examine(&listed(
        "failed",
        &["services/odd.toml, line 2: no key 'comand'"],
    ));
    assert_eq!(found[0].message, "web failed. It ended with code 3.");
    assert!(
        found[0]
            .fix
            .as_deref()
            .is_some_and(|fix| fix.contains("logs web"))
    );
    assert!(found[1].message.contains("comand"));
    assert!(found.iter().all(|it| it.level == FindingLevel::Warning));
    let well = examine(&listed("running", &[]));
    assert_eq!((well.len(), well[0].level), (1, FindingLevel::Well));
    assert_eq!(well[0].message, "1 of 1 run");
}
