/* The library of Windows from which Rust's standard library has its random bytes. Wine knows it from version 9
 * on; for older ones the program is tested beside this one, which hands the request on. */
#include <windows.h>
#include <bcrypt.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
    return BCryptGenRandom(NULL, bytes, (ULONG)length, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
}
