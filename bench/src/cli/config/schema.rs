//! `apportion-bench config schema`.

/// The JSON schema of native files, draft 2020-12; also a file for editors to point at.
pub(super) const SCHEMA: &str = include_str!("../../../../docs/configuration.schema.json");
