# Not run by the authors; see CONTRIBUTING.md, Releasing. `nix run . -- demo`, `nix build`.
{
  description = "A git plugin that applies a model's drifted edits and checkpoints the worktree";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      line = nixpkgs.lib.findFirst (nixpkgs.lib.hasPrefix "__version__ = ") "" (
        nixpkgs.lib.splitString "\n" (builtins.readFile ./git_boocode/__init__.py)
      );
    in
    {
      packages = each (pkgs: rec {
        default = git-boocode;
        git-boocode = pkgs.python3Packages.buildPythonApplication {
          pname = "git-boocode";
          version = builtins.elemAt (nixpkgs.lib.splitString "\"" line) 1;
          pyproject = true;
          src = self;

          build-system = [ pkgs.python3Packages.hatchling ];
          dependencies = with pkgs.python3Packages; [
            click
            prompt-toolkit
            pygit2
            rapidfuzz
            tomlkit
          ];

          # Only a script in Python gets the paths of its dependencies.
          postInstall = ''
            cat >$out/bin/git-boocode <<EOF
            #!${pkgs.python3.interpreter} -I
            from git_boocode.__main__ import program

            program()
            EOF
          '';

          # The demo checkpoints and restores a repository. CONTRIBUTING.md says how to run the tests.
          nativeCheckInputs = [ pkgs.git ];
          installCheckPhase = ''
            runHook preInstallCheck
            HOME=$TMPDIR $out/bin/git-boocode demo
            runHook postInstallCheck
          '';

          meta = {
            description = "A git plugin that applies a model's drifted edits and checkpoints the worktree";
            license = nixpkgs.lib.licenses.mit;
            mainProgram = "git-boocode";
            platforms = nixpkgs.lib.platforms.unix;
          };
        };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.git
            pkgs.python3
          ];
        };
      });
    };
}
