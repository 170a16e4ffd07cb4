//! Names of enum variants, for logs and reports, and numbers in sentences.

/// Gives an enum a list of its variants' names, and each value the name of its variant.
macro_rules! labels {
    ($type:ident { $($variant:ident => $label:literal,)+ }) => {
        impl $type {
            /// The names of all variants.
            pub const LABELS: &'static [&'static str] = &[$($label),+];

            /// The name of the variant.
            #[must_use]
            pub const fn label(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $label,)+ }
            }
        }
    };
}
pub(crate) use labels;

/// A number of things, in words: `1 container`, `2 containers`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A point in time or a duration, in seconds as logs have it: `12.500 s`.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}
