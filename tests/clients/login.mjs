// Has the official client of MCP find its way from a workspace to the issuer of tokens, log in and write a memory:
// node login.mjs ADDRESS, of /w/NAME/mcp. What a browser would do, it does itself.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const address = new URL(process.argv[2]);
const callback = 'http://127.0.0.1:1/callback';
const seen = {};

// A browser that follows redirects, with cookies, until it is sent to the client.
async function browse(url) {
    const cookies = new Map();
    for (let steps = 0; steps < 20; steps += 1) {
        const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
        const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
        for (const set of response.headers.getSetCookie()) {
            const [name, value] = set.split(';')[0].split('=');
            cookies.set(name, value);
        }
        const location = response.headers.get('location');
        if (location === null) {
            throw new Error(`${url}: ${response.status} ${await response.text()}`);
        }
        url = new URL(location, url);
        if (url.href.startsWith(callback)) {
            return url.searchParams;
        }
    }
    throw new Error('it is sent from one address to the next');
}

const provider = {
    redirectUrl: callback,
    clientMetadata: {
        client_name: 'test',
        redirect_uris: [callback],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        // This issuer gives nothing to who asks for nothing.
        scope: 'openid',
        application_type: 'native',
    },
    clientInformation: () => seen.client,
    saveClientInformation: (client) => { seen.client = client; },
    tokens: () => seen.tokens,
    saveTokens: (tokens) => { seen.tokens = tokens; },
    saveCodeVerifier: (verifier) => { seen.verifier = verifier; },
    codeVerifier: () => seen.verifier,
    redirectToAuthorization: async (url) => { seen.asked = url; seen.answer = await browse(url); },
};

const connect = async () => {
    const transport = new StreamableHTTPClientTransport(address, { authProvider: provider });
    const client = new Client({ name: 'test', version: '1' });
    return { transport, connected: client.connect(transport).then(() => client) };
};

const first = await connect();
await first.connected.then(
    () => { throw new Error('it is open without a token'); },
    (error) => { if (!(error instanceof UnauthorizedError)) throw error; },
);
if (seen.asked.searchParams.get('resource') !== address.href) {
    throw new Error(`the token is asked for another resource: ${seen.asked}`);
}
await first.transport.finishAuth(seen.answer.get('code'));
const client = await (await connect()).connected;
const stored = await client.callTool({
    name: 'remember', arguments: { content: 'The okapi.', topics: ['animals'], agent: 'test', user: 'eve' },
});
if (stored.isError) {
    throw new Error(JSON.stringify(stored));
}
const found = await client.callTool({ name: 'think', arguments: { query: 'okapi' } });
if (!JSON.stringify(found).includes('The okapi.')) {
    throw new Error(JSON.stringify(found));
}
await client.close();
console.log(`logged in at ${seen.asked.origin}, and wrote`);
