//! Every public value can be written and read with serde, and the forms are those of `docs/json.md`.

mod forms;
mod surface;
