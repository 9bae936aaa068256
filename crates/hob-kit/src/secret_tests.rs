//! A secret is not shown.

use super::Secret;

#[test]
fn debug_says_nothing() {
    let secret = Secret::new("canary-7d1f");
    assert_eq!(
        format!("{:?} {:#?}", secret, Some(&secret)),
        "Secret Some(\n    Secret,\n)"
    );
    assert_eq!(secret.expose(), "canary-7d1f");
}
