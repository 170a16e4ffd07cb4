//! A crate outside the workspace that models its code with the engine: `fresh/`. The test makes it.

#![forbid(unsafe_code)]
