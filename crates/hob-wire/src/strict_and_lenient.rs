//! Words that a person gives and is shown again: strict as a request, where a mistyped field must
//! not pass for a missing limit, and tolerant in an answer, where a field of a newer daemon is
//! passed over. Declared once, both forms have the same fields.

macro_rules! twin {
    (
        $(#[$about:meta])*
        pub struct $strict:ident / $shown:ident {
            $($(#[$field_about:meta])* pub $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $strict {
            $($(#[$field_about])* pub $field: $kind,)*
        }

        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $shown {
            $($(#[$field_about])* pub $field: $kind,)*
        }

        impl From<$strict> for $shown {
            fn from(given: $strict) -> $shown {
                $shown { $($field: given.$field,)* }
            }
        }

        impl From<$shown> for $strict {
            fn from(shown: $shown) -> $strict {
                $strict { $($field: shown.$field,)* }
            }
        }
    };
}
pub(crate) use twin;
