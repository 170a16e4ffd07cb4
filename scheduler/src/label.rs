//! Names of enum variants, for logs and reports.

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
