class Memdir < Formula
  desc "{{title}}"
  homepage "{{repository}}"
  version "{{version}}"
  license "{{license}}"

  on_macos do
{{?aarch64_apple_darwin}}
    on_arm do
      url "{{downloads}}/memdir-{{version}}-aarch64-apple-darwin.tar.gz"
      sha256 "{{aarch64_apple_darwin}}"
    end
{{/}}
{{?x86_64_apple_darwin}}
    on_intel do
      url "{{downloads}}/memdir-{{version}}-x86_64-apple-darwin.tar.gz"
      sha256 "{{x86_64_apple_darwin}}"
    end
{{/}}
  end

  on_linux do
{{?aarch64_unknown_linux_gnu}}
    on_arm do
      url "{{downloads}}/memdir-{{version}}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "{{aarch64_unknown_linux_gnu}}"
    end
{{/}}
{{?x86_64_unknown_linux_gnu}}
    on_intel do
      url "{{downloads}}/memdir-{{version}}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "{{x86_64_unknown_linux_gnu}}"
    end
{{/}}
  end

  def install
    bin.install "bin/memdir"
    man1.install "share/man/man1/memdir.1"
    bash_completion.install "share/bash-completion/completions/memdir"
    zsh_completion.install "share/zsh/site-functions/_memdir"
    fish_completion.install "share/fish/vendor_completions.d/memdir.fish"
    doc.install Dir["share/doc/memdir/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/memdir --version")
    system bin/"memdir", "--store", testpath/"memories", "remember", "Deploys go out on Tuesdays."
    assert_match "Tuesdays", shell_output("#{bin}/memdir --store #{testpath}/memories think when do deploys go out")
  end
end
