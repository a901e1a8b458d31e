# nix run 'github:OWNER/memdir?dir=.github/packaging/nix' -- --version
{
  description = "Memory of AI agents as markdown files";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      root = ../../..;
      manifest = (builtins.fromTOML (builtins.readFile (root + "/Cargo.toml"))).package;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEach = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forEach (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = manifest.name;
            inherit (manifest) version;
            src = root;
            cargoLock.lockFile = root + "/Cargo.lock";
            # The profile of Cargo.toml that is for programs that are given out.
            buildType = "dist";
            # The tests want a network of their own, git and a shell in usual places; CI runs them.
            doCheck = false;
            # As Nix wants programs: at an address that varies.
            MEMDIR_PIE = "1";
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              installManPage --name memdir.1 <($out/bin/memdir man)
              installShellCompletion --cmd memdir \
                --bash <($out/bin/memdir completions bash) \
                --zsh <($out/bin/memdir completions zsh) \
                --fish <($out/bin/memdir completions fish)
            '';
            meta = {
              inherit (manifest) description;
              license = pkgs.lib.licenses.asl20;
              mainProgram = "memdir";
            };
          };
        }
      );
    };
}
