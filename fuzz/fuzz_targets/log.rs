#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion::fuzz_log(data));
