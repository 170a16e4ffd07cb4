//! What every test ends with.

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;
