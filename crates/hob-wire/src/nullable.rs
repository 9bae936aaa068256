//! Tells a field that is `null` from one that is missing: the first clears, the second keeps.
//! For `Option<Option<T>>` beside `default` and `skip_serializing_if = "Option::is_none"`.

#![expect(
    clippy::option_option,
    clippy::ref_option,
    reason = "missing and null are the two things told apart, and serde hands the field as it is"
)]

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T: Serialize, S: Serializer>(
    given: &Option<Option<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    given
        .as_ref()
        .and_then(Option::as_ref)
        .serialize(serializer)
}

pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
