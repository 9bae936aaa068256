//! Types that appear in requests and in answers, declared once with the same fields.
//!
//! The strict form is for requests: it refuses unknown fields, so a mistyped limit is an error and
//! not a missing limit. The lenient form is for answers: it ignores fields of a newer daemon.

macro_rules! strict_and_lenient {
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
pub(crate) use strict_and_lenient;
