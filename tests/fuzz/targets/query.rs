#![no_main]

libfuzzer_sys::fuzz_target!(|input: memdir_fuzz::Query| memdir_fuzz::query(input));
