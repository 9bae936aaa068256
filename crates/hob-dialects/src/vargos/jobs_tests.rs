//! Targets of notices.

use super::*;

fn translated(notify: Value) -> Result<Option<Value>, WireError> {
    let mut params = VargosParams::default();
    params.set("notify", notify);
    translate_notify(&mut params)?;
    Ok(params.take("notify"))
}

#[test]
fn one_target_is_a_session() {
    assert_eq!(
        translated(json!(["telegram:1"])),
        Ok(Some(json!({"sessionKey": "telegram:1"})))
    );
    assert_eq!(translated(json!([])), Ok(Some(json!({"sessionKey": ""}))));
    let hobs = json!({"sessionKey": "a", "failuresOnly": true});
    assert_eq!(translated(hobs.clone()), Ok(Some(hobs)));
    let two = translated(json!(["telegram:1", "whatsapp:2"]));
    let error = two.expect_err("two");
    assert!(error.message.contains("`notify`"), "{}", error.message);
}
