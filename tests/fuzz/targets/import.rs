#![no_main]

libfuzzer_sys::fuzz_target!(|input: memdir_fuzz::Import| memdir_fuzz::import(input));
