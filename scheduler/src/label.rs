//! Names of kinds, for logs and reports.

/// Gives an enum a list of its kinds' names, and each value the name of its kind.
macro_rules! labels {
    ($type:ident { $($variant:ident => $label:literal,)+ }) => {
        impl $type {
            /// The names of all kinds.
            pub const LABELS: &'static [&'static str] = &[$($label),+];

            /// The name of its kind.
            #[must_use]
            pub const fn label(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $label,)+ }
            }
        }
    };
}
pub(crate) use labels;
