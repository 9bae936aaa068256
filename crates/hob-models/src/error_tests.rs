//! Messages are bounded and hold no key.

use super::ModelError;
use hob_core::failover::ErrorClass;
use hob_kit::secret::Secret;

#[test]
fn a_sealed_error_has_no_key_and_is_bounded() {
    let key = Secret::new("canary-key-1234567890");
    let said = format!(
        "bad key canary-key-1234567890\nBearer {} {}",
        "x".repeat(40),
        "é".repeat(5_000)
    );
    let sealed = ModelError::new(ErrorClass::Auth, said).sanitize("sim", Some(&key));
    assert!(!sealed.message.contains("canary"), "{}", sealed.message);
    assert!(!sealed.message.contains("xxxx"), "{}", sealed.message);
    assert!(!sealed.message.contains('\n'));
    assert!(sealed.message.starts_with("sim: bad key [masked]"));
    assert!(sealed.message.chars().count() <= 620);
}
