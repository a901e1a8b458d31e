"""Has the MCP Inspector log in, in a browser: inspector_login.py INSPECTOR PROXY TOKEN SERVER CHROMIUM

INSPECTOR is the address of its page and PROXY that of its proxy, which asks for TOKEN; SERVER is that of a workspace's
`/mcp`. Nothing is told to the Inspector but SERVER and a scope: it has to find the issuer by the refusal, register,
have the person log in, and connect with the token; then it calls a tool.
"""

import json
import sys
import urllib.parse

from playwright.sync_api import expect, sync_playwright

# Milliseconds. The machine has other work: what takes longer does not come.
expect.set_options(timeout=60_000)


def main():
    inspector, proxy, token, server, browser = sys.argv[1:]
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = chromium.new_page()
        page.set_default_timeout(60_000)
        # The page to which the issuer leads back has no parameters: it knows its proxy from here.
        kept = json.dumps(json.dumps({"MCP_PROXY_FULL_ADDRESS": {"value": proxy}, "MCP_PROXY_AUTH_TOKEN": {"value": token}}))
        page.add_init_script("localStorage.getItem('inspectorConfig_v1') || "
                             f"localStorage.setItem('inspectorConfig_v1', {kept})")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        port = urllib.parse.urlsplit(proxy).port
        parameters = {"transport": "streamable-http", "serverUrl": server, "MCP_PROXY_AUTH_TOKEN": token,
                      "MCP_PROXY_PORT": port}
        page.goto(f"{inspector}/?{urllib.parse.urlencode(parameters)}")
        page.get_by_role("button", name="Authentication").click()
        # This issuer gives nothing to who asks for nothing.
        page.get_by_placeholder("Scope (space-separated)").fill("openid")
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_text("Connected", exact=True)).to_be_visible()
        page.get_by_role("tab", name="Tools").click()
        page.get_by_role("button", name="List Tools").click()
        for name in ("remember", "think", "recall"):
            expect(page.get_by_text(name, exact=True).first).to_be_visible()
        page.get_by_text("think", exact=True).first.click()
        page.get_by_role("textbox", name="query").first.fill("okapi")
        page.get_by_role("button", name="Run Tool").click()
        expect(page.get_by_text("Tool Result: Success")).to_be_visible()
        expect(page.get_by_text("The okapi.").first).to_be_visible()
        origins = {urllib.parse.urlsplit(url).netloc for url in asked}
        assert len(origins) == 4, f"the page, its proxy, the server and the issuer are asked, and not {origins}"
        chromium.close()
    print("the Inspector followed the metadata to a token, listed the tools and found a memory")


main()
