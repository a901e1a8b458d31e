# Installs memdir on Windows for one user, or removes it: ./install.ps1 [-Yes] [-NoPath] [-Uninstall] …
#
# It downloads an archive, the list of checksums and its signature, checks both, and copies the program. It
# asks before it changes the user's PATH. A signature is checked where minisign is installed; Windows has
# nothing of its own that knows Ed25519.
[CmdletBinding()]
param(
    [string]$Prefix = "$env:LOCALAPPDATA\Programs\memdir",
    # Folder or address with the release's files, its version and its public key, if not this script's.
    [string]$Place,
    [string]$Release,
    [string]$PublicKey,
    [switch]$RequireSignature,
    [switch]$NoPath,
    [switch]$Yes,
    [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

# A release fills these in.
$Version = ""
$From = ""
$Key = ""
if ($Release) { $Version = $Release }
if ($Place) { $From = $Place }
if ($PublicKey) { $Key = $PublicKey }

$Installed = Join-Path $Prefix 'share\doc\memdir\installed'
$Bin = Join-Path $Prefix 'bin'

# Asks a question of a person; where there is none the answer is no.
function Confirm-Change([string]$Question) {
    if ($Yes) { return $true }
    if (-not [Environment]::UserInteractive) { return $false }
    (Read-Host "$Question [y/N]") -match '^[yY]'
}

# Brings a file of the release into the working folder.
function Get-ReleaseFile([string]$Name, [string]$Work) {
    $to = Join-Path $Work $Name
    if ($From -match '^https?://') {
        Invoke-WebRequest -UseBasicParsing -Uri "$From/$Name" -OutFile $to
    } else {
        Copy-Item -LiteralPath (Join-Path ($From -replace '^file:///', '') $Name) -Destination $to
    }
    $to
}

function Test-Signature([string]$Sums, [string]$Work) {
    if (-not $Key) {
        $why = 'this script knows no key'
    } elseif (-not (Get-Command minisign -ErrorAction SilentlyContinue)) {
        $why = 'minisign is not installed'
    } else {
        $signature = Get-ReleaseFile "$(Split-Path $Sums -Leaf).minisig" $Work
        & minisign -Vqm $Sums -x $signature -P $Key | Out-Null
        if ($LASTEXITCODE -ne 0) { throw "the signature of $(Split-Path $Sums -Leaf) is wrong: do not use these files, and tell the project" }
        Write-Host 'the signature of the checksums is right'
        return
    }
    if ($RequireSignature) { throw "the signature cannot be checked: $why" }
    Write-Host "note: the signature was not checked, only the sum: $why"
}

# The user's PATH as it is stored, with its variables.
function Get-UserPath {
    $environment = Get-Item 'HKCU:\Environment'
    [string]$environment.GetValue('Path', '', 'DoNotExpandEnvironmentNames')
}

function Set-UserPath([string]$Value) {
    Set-ItemProperty -Path 'HKCU:\Environment' -Name Path -Value $Value -Type ExpandString
    # Tells programs that run already that the environment changed.
    [Environment]::SetEnvironmentVariable('MEMDIR_INSTALLER', $null, 'User')
}

function Install-Memdir {
    if (-not $Version -or -not $From) { throw 'this copy of install.ps1 belongs to no release: take it from one, or give -Release and -Place' }
    $work = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
    New-Item -ItemType Directory -Path $work | Out-Null
    try {
        $sums = Get-ReleaseFile "memdir-$Version.sha256" $work
        Test-Signature $sums $work
        $name = "memdir-$Version-x86_64-pc-windows-msvc"
        $line = Get-Content $sums | Where-Object { $_ -match "^[0-9a-f]{64} [ *]$([regex]::Escape("$name.zip"))$" }
        if (-not $line) { throw "the release has no $name.zip" }
        $archive = Get-ReleaseFile "$name.zip" $work
        if ((Get-FileHash -Algorithm SHA256 $archive).Hash.ToLowerInvariant() -ne $line.Substring(0, 64)) {
            throw "the checksum of $name.zip is wrong: the download was cut or changed"
        }
        Expand-Archive -LiteralPath $archive -DestinationPath $work
        $unpacked = Join-Path $work $name
        $files = Get-ChildItem $unpacked -Recurse -File | ForEach-Object { $_.FullName.Substring($unpacked.Length + 1) }
        $before = @(if (Test-Path -LiteralPath $Installed) { Get-Content $Installed })
        foreach ($file in $files) {
            $to = Join-Path $Prefix $file
            if ((Test-Path -LiteralPath $to) -and $before -notcontains $file) { throw "$to is there and is not from this script: remove it, or choose another -Prefix" }
        }
        foreach ($file in $files) {
            $to = Join-Path $Prefix $file
            New-Item -ItemType Directory -Force -Path (Split-Path $to) | Out-Null
            # A program that runs cannot be replaced, but renamed.
            if (Test-Path -LiteralPath $to) {
                Remove-Item -LiteralPath "$to.old" -Force -ErrorAction SilentlyContinue
                Move-Item -LiteralPath $to -Destination "$to.old" -Force
            }
            Copy-Item -LiteralPath (Join-Path $unpacked $file) -Destination $to
            Remove-Item -LiteralPath "$to.old" -Force -ErrorAction SilentlyContinue
        }
        $before | Where-Object { $files -notcontains $_ } | ForEach-Object { Remove-Item -LiteralPath (Join-Path $Prefix $_) -Force -ErrorAction SilentlyContinue }
        Set-Content -LiteralPath $Installed -Value $files
        Write-Host "$(& (Join-Path $Bin 'memdir.exe') --version) is in $Bin"
        $path = Get-UserPath
        if ($path -split ';' -notcontains $Bin) {
            if (-not $NoPath -and (Confirm-Change "$Bin is not in your PATH. Add it?")) {
                Set-UserPath (($path.TrimEnd(';'), $Bin | Where-Object { $_ }) -join ';')
                Write-Host 'a new terminal finds memdir'
            } else {
                Write-Host "$Bin is not in your PATH; add it there to find memdir"
            }
        }
    } finally {
        Remove-Item -LiteralPath $work -Recurse -Force -ErrorAction SilentlyContinue
    }
}

function Uninstall-Memdir {
    if (-not (Test-Path -LiteralPath $Installed)) { throw "nothing below $Prefix was installed by this script: say where with -Prefix" }
    $memdir = Join-Path $Bin 'memdir.exe'
    $store = & $memdir path
    if (Confirm-Change 'Take memdir out of the clients of agents that it was set up for?') { & $memdir setup --uninstall --yes }
    $files = Get-Content $Installed
    foreach ($file in @($files) + 'share\doc\memdir\installed') { Remove-Item -LiteralPath (Join-Path $Prefix $file) -Force }
    # Folders that are empty now, the deepest first.
    Get-ChildItem $Prefix -Recurse -Directory | Sort-Object { $_.FullName.Length } -Descending |
        Where-Object { -not (Get-ChildItem -LiteralPath $_.FullName -Force) } | Remove-Item
    if (-not (Get-ChildItem -LiteralPath $Prefix -Force)) { Remove-Item -LiteralPath $Prefix }
    $path = Get-UserPath
    if ($path -split ';' -contains $Bin) { Set-UserPath (($path -split ';' | Where-Object { $_ -ne $Bin }) -join ';') }
    Write-Host "memdir is removed. Your memories stay in $store."
}

if ($Uninstall) { Uninstall-Memdir } else { Install-Memdir }
