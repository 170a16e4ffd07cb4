//! Tests of the trace readers with small inputs, broken inputs and the real files.

mod bad_input;
mod bad_table;
mod fuzz;
mod hadoop_files;
mod openb_files;
mod philly;
mod sls;
mod support;
mod swim;
mod synth;
