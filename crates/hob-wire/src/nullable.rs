//! Serde functions that distinguish a `null` field (clear the value) from a missing one (keep it).
//! For `Option<Option<T>>` with `default` and `skip_serializing_if = "Option::is_none"`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<T: Serialize, S: Serializer>(
    given: &Option<Option<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    given
        .as_ref()
        .and_then(Option::as_ref)
        .serialize(serializer)
}

pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
