/* An editor or scanner of Windows that lets nobody else have a file: hold.exe FILE MILLISECONDS [TEXT]
 *
 * Opens FILE for itself alone, says so, adds TEXT to its end, waits, and closes it. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    HANDLE file = INVALID_HANDLE_VALUE;
    /* Others may have it this moment; then an editor of Windows would ask its user to try again. */
    for (int tries = 0; tries < 1000 && file == INVALID_HANDLE_VALUE; tries++) {
        file = CreateFileA(words[1], GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
        if (file == INVALID_HANDLE_VALUE) {
            Sleep(5);
        }
    }
    if (file == INVALID_HANDLE_VALUE) {
        return 1;
    }
    puts("held");
    fflush(stdout);
    if (count > 3) {
        DWORD written;
        SetFilePointer(file, 0, NULL, FILE_END);
        WriteFile(file, words[3], strlen(words[3]), &written, NULL);
    }
    Sleep(atoi(words[2]));
    CloseHandle(file);
    return 0;
}
