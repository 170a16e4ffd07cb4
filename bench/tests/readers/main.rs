//! Tests of the trace readers: what they make of small inputs, of broken ones, and of the real files.

mod bad_input;
mod bad_table;
mod fuzz;
mod hadoop_files;
mod openb_files;
mod sls;
mod support;
mod swim;
mod synth;
