//! `apportion-bench config schema`.

/// The JSON schema of native files, draft 2020-12. Editors can also use the file itself.
pub(super) const SCHEMA: &str = include_str!("../../../../docs/configuration.schema.json");
